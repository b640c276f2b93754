"""Webhooks: addresses, metrics of calls, and that a hanging webhook blocks nothing else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.client import Answer, Object
from support.namespaces import Space
from support.process import ServerProcess, failed_start
from support.webhook import Hooked, Respond, WebhookServer, allow, deny

MAPPED = "mapped"
PORT = 8443


def _names(service: str) -> list[str]:
    return [f"{service}.{namespace}.svc" for namespace in ("hooks", "other")]


@pytest.fixture(scope="module")
def service_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebhookServer]:
    """Has the names of services in its certificate."""
    names = [name for service in (MAPPED, "listed", "outside") for name in _names(service)]
    server = WebhookServer(tmp_path_factory.mktemp("services"), *names)
    yield server
    server.close()


@pytest.fixture(scope="module")
def reaching(
    tmp_path_factory: pytest.TempPathFactory, service_server: WebhookServer
) -> Iterator[ServerProcess]:
    """Has the address of one service, and credentials for some hosts."""
    directory = tmp_path_factory.mktemp("reaching")
    address = f"127.0.0.1:{service_server.port}"
    users = [
        {"name": f"127.0.0.1:{service_server.port}", "user": {"token": "by-address"}},
        {"name": f"{MAPPED}.hooks.svc", "user": {"username": "u", "password": "p"}},
        {"name": f"*.hooks.svc:{PORT}", "user": {"token": "by-domain"}},
        {"name": "*", "user": {"token": "of-all"}},
    ]
    (directory / "users.json").write_text(json.dumps({"kind": "Config", "users": users}))
    own = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": "users.json",
    }
    plugins = [
        {"name": f"{kind}AdmissionWebhook", "configuration": own}
        for kind in ("Validating", "Mutating")
    ]
    head = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration"}
    (directory / "admission.json").write_text(json.dumps({**head, "plugins": plugins}))
    flags = (
        *("--service-address-map", f"hooks/{MAPPED}={address},other/{MAPPED}:{PORT}={address}"),
        *("--admission-control-config-file", str(directory / "admission.json")),
        *("--proxy-allowed-networks", "127.0.0.0/8"),
    )
    running = ServerProcess(directory, "kubernetes", flags).start()
    client = running.client()
    for name in ("hooks", "other"):
        client.post("/api/v1/namespaces", {"metadata": {"name": name}})
    yield running
    running.stop()


@pytest.fixture
def far(reaching: ServerProcess, service_server: WebhookServer) -> Iterator[Hooked]:
    client = reaching.client()
    hooked = Hooked(Space(reaching, client), service_server)
    yield hooked
    hooked.remove()
    client.close()


def _create(hooked: Hooked, name: str = "a", **fields: Any) -> Answer:
    things = hooked.space.config_maps
    return things.client.post(things.path, {"metadata": {"name": name}, **fields})


def _called(far: Hooked, **client_config: Any) -> tuple[Answer, list[dict[str, str]]]:
    """The answer to a write, and the heads of the calls about it."""
    path = f"/{far.space.name}/0"
    far.server.serve(path, allow)
    config = {"caBundle": far.server.bundle, **client_config}
    if "service" in config:
        config["service"] = {"path": path, **config["service"]}
    far.install("validating", far.webhook(path, clientConfig=config))
    return _create(far), far.server.headers[path]


def _expose(far: Hooked, name: str, spec: Object) -> None:
    services = f"/api/v1/namespaces/hooks/services/{name}"
    body = {"metadata": {"name": name}, "spec": spec}
    far.space.client.delete(services)
    answer = far.space.client.post("/api/v1/namespaces/hooks/services", body)
    assert answer.status == 201, answer.text


def test_a_service_is_found_by_the_map(far: Hooked) -> None:
    answer, [head] = _called(far, service={"namespace": "hooks", "name": MAPPED})
    assert answer.status == 201, answer.text
    assert head["host"] == f"{MAPPED}.hooks.svc"


def test_the_map_may_name_a_port(far: Hooked) -> None:
    service = {"namespace": "other", "name": MAPPED, "port": PORT}
    answer, [head] = _called(far, service=service)
    assert answer.status == 201, answer.text
    assert head["host"] == f"{MAPPED}.other.svc:{PORT}"


def test_a_service_may_be_another_host(far: Hooked) -> None:
    _expose(far, "outside", {"type": "ExternalName", "externalName": "localhost"})
    port = far.server.port
    service = {"namespace": "hooks", "name": "outside", "port": port}
    answer, [head] = _called(far, service=service)
    assert answer.status == 201, answer.text
    assert head["host"] == f"outside.hooks.svc:{port}"


def test_a_service_without_that_port_is_not_called(far: Hooked) -> None:
    _expose(far, "listed", {"ports": [{"port": 80}]})
    answer, heads = _called(far, service={"namespace": "hooks", "name": "listed", "port": 81})
    assert heads == []
    assert 'no service port 81 found for service "listed"' in answer.message


def test_a_service_without_endpoints_is_not_called(far: Hooked) -> None:
    _expose(far, "listed", {"clusterIP": "None", "ports": [{"port": 443}]})
    answer, _ = _called(far, service={"namespace": "hooks", "name": "listed"})
    assert 'no endpoints available for service "listed"' in answer.message


def test_endpoints_cannot_lead_into_this_machine(hooks: Hooked) -> None:
    spec = {"type": "ExternalName", "externalName": "localhost"}
    hooks.space.collection("services").create("s", spec=spec)
    service = {"namespace": hooks.space.name, "name": "s", "port": hooks.server.port}
    hooks.validate(clientConfig={"service": service, "caBundle": hooks.server.bundle})
    assert "the address is not allowed" in _create(hooks).message


@pytest.mark.parametrize(
    ("config", "sent"),
    [
        ({"url": "https://127.0.0.1:{port}"}, "Bearer by-address"),
        ({"service": {"namespace": "hooks", "name": MAPPED}}, "Basic dTpw"),
        (
            {"service": {"namespace": "hooks", "name": MAPPED, "port": PORT}},
            "Bearer by-domain",
        ),
        (
            {"service": {"namespace": "other", "name": MAPPED, "port": PORT}},
            "Bearer of-all",
        ),
    ],
    ids=["host and port", "service", "wildcard with port", "default"],
)
def test_credentials_are_those_of_the_host(far: Hooked, config: Object, sent: str) -> None:
    path = f"/{far.space.name}/0"
    if "url" in config:
        config = {"url": config["url"].format(port=far.server.port) + path}
    answer, heads = _called(far, **config)
    assert answer.status == 201, answer.text
    assert heads[0]["authorization"] == sent


def test_without_a_file_no_credentials_are_sent(hooks: Hooked) -> None:
    path = hooks.validate()
    assert _create(hooks).status == 201
    assert "authorization" not in hooks.server.headers[path][0]


def test_connections_are_kept(hooks: Hooked) -> None:
    hooks.validate()
    assert _create(hooks, "first").status == 201
    before = hooks.server.connections
    for number in range(20):
        assert _create(hooks, f"a{number}").status == 201
    assert hooks.server.connections == before


def test_a_connection_that_was_closed_meanwhile_is_made_anew(tmp_path: Path, hooks: Hooked) -> None:
    """The webhook closes each connection after its answer, without saying so."""
    closing = WebhookServer(tmp_path)
    closing.closes = True
    path = f"/{hooks.space.name}/0"
    closing.serve(path, allow)
    config = {"url": closing.url(path), "caBundle": closing.bundle}
    hooks.install("validating", hooks.webhook(path, clientConfig=config))
    statuses = [_create(hooks, f"a{number}").status for number in range(5)]
    closing.close()
    assert statuses == [201] * 5
    assert len(closing.reviews[path]) == 5


def test_a_new_certificate_needs_a_new_bundle_and_no_restart(tmp_path: Path, hooks: Hooked) -> None:
    rotating = WebhookServer(tmp_path / "old")
    path = f"/{hooks.space.name}/0"
    rotating.serve(path, allow)
    config = {"url": rotating.url(path), "caBundle": rotating.bundle}
    item = hooks.install("validating", hooks.webhook(path, clientConfig=config))
    assert _create(hooks, "before").status == 201
    rotating.renew(tmp_path / "new")
    rotating.drop_connections()
    assert "x509: certificate signed by unknown authority" in _create(hooks, "between").message
    judges = hooks.configurations("validating")
    value = judges.read(item["metadata"]["name"])
    value["webhooks"][0]["clientConfig"]["caBundle"] = rotating.bundle
    judges.update(value)
    after = _create(hooks, "after")
    rotating.close()
    assert after.status == 201, after.text


def test_both_authorities_are_trusted_while_a_certificate_is_renewed(
    tmp_path: Path, hooks: Hooked
) -> None:
    rotating = WebhookServer(tmp_path / "old")
    path, old = f"/{hooks.space.name}/0", rotating.pem
    rotating.serve(path, allow)
    rotating.renew(tmp_path / "new")
    config = {"url": rotating.url(path), "caBundle": rotating.bundle_of(old + rotating.pem)}
    hooks.install("validating", hooks.webhook(path, clientConfig=config))
    answer = _create(hooks)
    rotating.close()
    assert answer.status == 201, answer.text


def test_a_webhook_that_hangs_slows_no_other_write(hooks: Hooked) -> None:
    released, arrived = threading.Event(), threading.Semaphore(0)

    def hang(request: Object) -> Object:
        arrived.release()
        released.wait(20)
        return allow(request)

    hooks.validate(hang, objectSelector={"matchLabels": {"slow": "yes"}}, timeoutSeconds=20)
    prompt = hooks.validate(objectSelector={"matchLabels": {"quick": "yes"}})
    statuses: list[int] = []

    def write(number: int) -> None:
        client = hooks.space.client.clone()
        metadata = {"name": f"slow-{number}", "labels": {"slow": "yes"}}
        things = hooks.space.config_maps
        statuses.append(client.post(things.path, {"metadata": metadata}).status)
        client.close()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for writer in writers:
        writer.start()
    for _ in writers:
        assert arrived.acquire(timeout=20)
    things = hooks.space.config_maps
    for number in range(50):
        things.create(f"free-{number}")
        things.create(f"asked-{number}", labels={"quick": "yes"})
    assert statuses == []  # all of those are still waiting
    released.set()
    for writer in writers:
        writer.join()
    assert statuses == [201] * 20
    assert len(hooks.requests(prompt)) == 50


def test_an_object_that_a_webhook_thinks_about_can_be_changed_by_others(hooks: Hooked) -> None:
    things = hooks.space.config_maps
    things.create("a")
    released, arrived = threading.Event(), threading.Event()

    def hang(request: Object) -> Object:
        if "slow" in request["object"]["metadata"].get("labels", {}):
            arrived.set()
            released.wait(20)
        return allow(request)

    hooks.validate(hang, operations=["UPDATE"])
    answers: list[Answer] = []

    def write() -> None:
        client = hooks.space.client.clone()
        answers.append(client.patch(things.item("a"), {"metadata": {"labels": {"slow": "1"}}}))
        client.close()

    writer = threading.Thread(target=write)
    writer.start()
    assert arrived.wait(20)
    assert things.patch("a", {"data": {"k": "v"}}).status == 200
    assert answers == []
    released.set()
    writer.join()
    assert answers[0].status == 200
    assert answers[0].body["data"] == {"k": "v"}


def _metrics(hooks: Hooked, *words: str) -> dict[str, float]:
    """The lines of the metrics that hold all of the words."""
    item = {}
    for line in hooks.space.client.get("/metrics").text.splitlines():
        if not line.startswith("#") and all(word in line for word in words):
            name, _, value = line.rpartition(" ")
            item[name] = float(value)
    return item


def test_calls_and_rejections_are_counted(hooks: Hooked) -> None:
    denying = hooks.validate(deny(code=700), objectSelector={"matchLabels": {"deny": "yes"}})
    broken = hooks.mutate(
        lambda request: (200, b"{}"),
        objectSelector={"matchLabels": {"break": "yes"}},
    )
    ignored = hooks.mutate(lambda request: (500, b""), failurePolicy="Ignore")
    assert _create(hooks).status == 201
    things = hooks.space.config_maps
    for label in ("deny", "break"):
        body = {"metadata": {"name": label, "labels": {label: "yes"}}}
        assert things.client.post(things.path, body).status >= 500
    names = {path: f"{hooks.name_of(path)}.example.com" for path in (denying, broken, ignored)}
    prefix = "apiserver_admission_webhook_"
    [(rejection, count)] = _metrics(hooks, f"{prefix}rejection_count{{", names[denying]).items()
    assert count == 1.0
    for label in ('error_type="no_error"', 'type="validating"', 'rejection_code="600"'):
        assert label in rejection
    [(rejection, count)] = _metrics(hooks, f"{prefix}rejection_count", names[broken]).items()
    assert count == 1.0
    for label in ('error_type="calling_webhook_error"', 'type="admit"', 'rejection_code="503"'):
        assert label in rejection
    assert _metrics(hooks, f"{prefix}rejection_count", names[ignored]) == {}
    [opened] = _metrics(hooks, f"{prefix}fail_open_count", names[ignored]).values()
    assert opened == 2.0
    [requests] = _metrics(hooks, f"{prefix}request_total", names[ignored]).values()
    assert requests == 2.0
    durations = f"{prefix}admission_duration_seconds_count"
    [timed] = _metrics(hooks, durations, names[denying]).values()
    assert timed == 1.0
    for metric in ("step", "controller"):
        assert _metrics(
            hooks, f"apiserver_admission_{metric}_admission_duration_seconds_count", "CREATE"
        )


def test_a_file_of_credentials_that_cannot_be_read_ends_the_start(tmp_path: Path) -> None:
    own = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": "nowhere.yaml",
    }
    head = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration"}
    plugins = [{"name": "ValidatingAdmissionWebhook", "configuration": own}]
    (tmp_path / "admission.json").write_text(json.dumps({**head, "plugins": plugins}))
    ended = failed_start(
        tmp_path, "--admission-control-config-file", str(tmp_path / "admission.json")
    )
    assert ended.returncode != 0
    assert "plugins[0].configuration.kubeConfigFile: cannot read" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_server_starts_although_a_webhook_of_everything_is_dead(fresh_server: Any) -> None:
    running = fresh_server()
    client = running.client()
    group = running.dialect.group_name("admissionregistration.@")
    path = f"/apis/{group}/v1/validatingwebhookconfigurations"
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    webhook = {
        "name": "dead.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    body = {"metadata": {"name": "dead"}, "webhooks": [webhook]}
    assert client.post(path, body).status == 201
    text = "/api/v1/namespaces/default/configmaps"
    assert client.post(text, {"metadata": {"name": "a"}}).status == 500
    running.stop()
    running.start()
    client = running.client()
    assert client.post(text, {"metadata": {"name": "a"}}).status == 500
    assert client.delete(f"{path}/dead").status == 200
    assert client.post(text, {"metadata": {"name": "a"}}).status == 201


def _later(seconds: str, code: int, times: int) -> Respond:
    """Answers with Retry-After a number of times."""
    left = [times]

    def respond(request: Object) -> Any:
        left[0] -= 1
        return allow(request) if left[0] < 0 else (code, b"{}", ("Retry-After", seconds))

    return respond


@pytest.mark.parametrize("code", [429, 503])
def test_a_webhook_that_wants_to_be_asked_later_is(hooks: Hooked, code: int) -> None:
    path = hooks.validate(_later("0", code, 3))
    assert _create(hooks).status == 201
    assert len(hooks.server.reviews[path]) == 4


def test_a_webhook_is_not_asked_for_ever(hooks: Hooked) -> None:
    path = hooks.validate(_later("0", 429, 100))
    answer = _create(hooks)
    assert answer.status == 500
    assert "the server has received too many requests" in answer.message
    assert len(hooks.server.reviews[path]) == 11


def test_a_webhook_is_not_waited_for_beyond_its_time(hooks: Hooked) -> None:
    path = hooks.validate(_later("30", 429, 1), timeoutSeconds=1)
    answer = _create(hooks)
    assert answer.status == 500
    assert answer.message.endswith("context deadline exceeded")
    assert len(hooks.server.reviews[path]) == 1


@pytest.mark.parametrize(("code", "seconds"), [(404, "0"), (429, "soon"), (503, "-1")])
def test_others_are_not_asked_again(hooks: Hooked, code: int, seconds: str) -> None:
    path = hooks.validate(_later(seconds, code, 1))
    assert _create(hooks).status == 500
    assert len(hooks.server.reviews[path]) == 1
