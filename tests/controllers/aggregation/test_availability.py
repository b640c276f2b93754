"""The condition Available of an extension server, with its reason."""

from __future__ import annotations

import asyncio
import base64
from typing import Any, cast

import pytest
from support.client import Object
from support.namespaces import random_word
from support.neighbour import Reply
from support.registered import Shelved
from support.waiting import eventually

from fairlead.controllers.aggregation import probe
from fairlead.controllers.aggregation.calls import ExtensionCalls
from fairlead.controllers.aggregation.extension import Extension
from fairlead.wire.outgoing.webhooks import Webhooks


@pytest.fixture
def shelved(running: Shelved) -> Shelved:
    running.shelf.reset()
    return running


def metric(shelved: Shelved, line: str) -> float:
    lines = (item for item in shelved.client.get("/metrics").text.splitlines() if line in item)
    return float(next(lines, "0").rpartition(" ")[2])


def test_a_server_that_answers_is_available(shelved: Shelved) -> None:
    condition = shelved.becomes(shelved.register(), "True")
    assert (condition["reason"], condition["message"]) == ("Passed", "all checks passed")


def test_a_server_is_asked_for_its_resources_as_a_master(shelved: Shelved) -> None:
    name = shelved.register(group=f"{random_word()}.example.com", version="v1beta1")
    shelved.becomes(name, "True")
    group = name.partition(".")[2]
    request = next(request for request in shelved.shelf.requests if group in request.path)
    assert request.path == f"/apis/{group}/v1beta1"
    assert request.headers["X-Remote-User"] == "system:kube-aggregator"
    assert request.headers["X-Remote-Group"] == "system:masters"


def test_a_missing_service_is_told(shelved: Shelved) -> None:
    condition = shelved.becomes(shelved.register("absent"), "False")
    assert condition["reason"] == "ServiceNotFound"
    assert condition["message"] == 'service/absent in "default" is not present'


PORTS = [{"name": "https", "port": 443}]
UNFIT: list[tuple[Object, str, str]] = [
    (
        {"ports": [{"port": 80}]},
        "ServicePortError",
        'service/{} in "default" is not listening on port 443',
    ),
    (
        {"ports": PORTS},
        "EndpointsNotFound",
        'cannot find endpoints for service/{} in "default"',
    ),
    (
        {"ports": PORTS, "selector": {"no": "pod"}},
        "MissingEndpoints",
        'endpoints for service/{} in "default" have no addresses with port name "https"',
    ),
]


@pytest.mark.parametrize(("spec", "reason", "message"), UNFIT, ids=[item[1] for item in UNFIT])
def test_what_a_service_lacks_is_told(
    shelved: Shelved, spec: Object, reason: str, message: str
) -> None:
    service = f"s-{random_word()}"
    name = shelved.register(service)
    shelved.becomes(name, "False", "ServiceNotFound")
    body = {"metadata": {"name": service}, "spec": spec}
    assert shelved.client.post("/api/v1/namespaces/default/services", body).status == 201
    assert shelved.becomes(name, "False", reason)["message"] == message.format(service)


def test_a_service_outside_of_the_cluster_needs_no_endpoints(shelved: Shelved) -> None:
    service = f"s-{random_word()}"
    spec = {"type": "ExternalName", "externalName": "nobody.invalid"}
    body = {"metadata": {"name": service}, "spec": spec}
    assert shelved.client.post("/api/v1/namespaces/default/services", body).status == 201
    shelved.becomes(shelved.register(service), "False", "FailedDiscoveryCheck")


def test_a_bad_answer_is_told(shelved: Shelved) -> None:
    shelved.shelf.reply = Reply(404)
    name = shelved.register()
    condition = shelved.becomes(name, "False", "FailedDiscoveryCheck")
    url = f"https://shelf.default.svc:443/apis/{name.partition('.')[2]}/v1"
    assert condition["message"] == (
        f"failing or missing response from {url}: bad status from {url}: 404"
    )


def test_a_redirect_is_not_followed(shelved: Shelved) -> None:
    shelved.shelf.reply = Reply(302, {"Location": "/elsewhere"})
    condition = shelved.becomes(shelved.register(), "False", "FailedDiscoveryCheck")
    assert condition["message"].endswith(": 302")


def test_a_server_that_does_not_listen_is_not_available(shelved: Shelved) -> None:
    condition = shelved.becomes(shelved.register("nobody"), "False", "FailedDiscoveryCheck")
    assert "connection refused" in condition["message"]


def test_a_server_without_the_right_certificate_is_not_available(shelved: Shelved) -> None:
    other = base64.b64encode(shelved.server.ca.read_bytes()).decode()
    name = shelved.register(caBundle=other)
    shelved.becomes(name, "False", "FailedDiscoveryCheck")
    blind = {"spec": {"caBundle": None, "insecureSkipTLSVerify": True}}
    assert shelved.services.patch(name, blind).status == 200
    shelved.becomes(name, "True")


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        async def fetch(self, *arguments: Any, **options: Any) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(probe, "_SECONDS", 0.01)
    services = Webhooks(lambda *place: None, {"a/b": "127.0.0.1:1"})
    prober = probe.Prober(lambda *place: None, services, cast(ExtensionCalls, Silent()))
    extension = Extension("v1.g", "g", "v1", "a", "b", 443, "", True, 1, 1, False, 1)
    verdict = asyncio.run(prober.probe(extension))
    assert verdict.reason == "FailedDiscoveryCheck"
    assert "Client.Timeout exceeded" in verdict.message


def test_a_server_that_fails_comes_back_when_it_works_again(shelved: Shelved) -> None:
    name = shelved.register()
    turned = shelved.becomes(name, "True")["lastTransitionTime"]
    shelved.shelf.reply = Reply(500)
    shelved.looks_again()
    failed = shelved.becomes(name, "False", "FailedDiscoveryCheck")
    assert failed["lastTransitionTime"] > turned
    shelved.shelf.reply = None
    shelved.becomes(name, "True", "Passed")


def test_nothing_is_written_while_nothing_changes(shelved: Shelved) -> None:
    name = shelved.register()
    shelved.becomes(name, "True")
    version = shelved.services.read(name)["metadata"]["resourceVersion"]
    before = len(shelved.shelf.requests)
    shelved.looks_again()
    eventually(lambda: len(shelved.shelf.requests) > before, "it is asked again")
    # Whatever was to be written is when another one has been judged after it.
    shelved.becomes(shelved.register(), "True")
    assert shelved.services.read(name)["metadata"]["resourceVersion"] == version


def test_what_others_write_into_the_condition_is_put_right(shelved: Shelved) -> None:
    name = shelved.register("absent")
    result = shelved.becomes(name, "False")
    lie = {"status": {"conditions": [{**result, "status": "True", "reason": "Passed"}]}}
    answer = shelved.client.patch(shelved.services.item(name, "status"), lie)
    assert answer.status == 200
    shelved.becomes(name, "False", "ServiceNotFound")


def test_api_service_that_becomes_local_is_available(shelved: Shelved) -> None:
    name = shelved.register("absent")
    shelved.becomes(name, "False")
    assert shelved.services.patch(name, {"spec": {"service": None, "caBundle": None}}).status == 200
    condition = shelved.becomes(name, "True")
    assert condition["reason"] == "Local"


def test_unavailable_servers_are_counted(shelved: Shelved) -> None:
    name = shelved.register()
    shelved.becomes(name, "True")
    gauge = f'aggregator_unavailable_apiservice{{name="{name}"}}'
    eventually(lambda: gauge in shelved.client.get("/metrics").text, "it is counted")
    assert metric(shelved, gauge) == 0
    shelved.shelf.reply = Reply(500)
    shelved.looks_again()
    eventually(lambda: metric(shelved, gauge) == 1, "it is unavailable")
    reason = (
        f'aggregator_unavailable_apiservice_total{{name="{name}",reason="FailedDiscoveryCheck"}}'
    )
    assert metric(shelved, reason) == 1
    shelved.services.remove(name)
    eventually(lambda: gauge not in shelved.client.get("/metrics").text, "it is forgotten")


def test_the_table_tells_the_reason(shelved: Shelved) -> None:
    name = shelved.register("absent")
    shelved.becomes(name, "False")
    form = f"application/json;as=Table;v=v1;g={shelved.server.dialect.meta_group}"
    [row] = shelved.client.get(shelved.services.item(name), headers={"Accept": form}).body["rows"]
    assert row["cells"][:3] == [name, "default/absent", "False (ServiceNotFound)"]
