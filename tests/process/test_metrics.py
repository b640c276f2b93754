"""/metrics: Prometheus' text format under the reference's names."""

from __future__ import annotations

import re
import shutil
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from support.client import Client
from support.namespaces import Space
from support.process import FreshServer, ServerProcess
from support.waiting import eventually
from support.wire import Wire

from fairlead.api.metrics import Metrics
from fairlead.api.routing import Target
from fairlead.process.certificates.validity import validity_of

if TYPE_CHECKING:
    from fairlead.api.request import Request
    from fairlead.storage.store import Store


def samples(client: Client, name: str) -> list[Sample]:
    """Return the samples of one name; parsing all metrics of a shared server would take seconds."""
    lines = client.get("/metrics").text.splitlines(keepends=True)
    named = "".join(line for line in lines if line.startswith((f"{name}{{", f"{name} ")))
    return [sample for family in text_string_to_metric_families(named) for sample in family.samples]


def value(client: Client, name: str, **labels: str) -> float:
    wanted = labels.items()
    return sum(sample.value for sample in samples(client, name) if wanted <= sample.labels.items())


@pytest.mark.parametrize(
    "name",
    [
        "apiserver_request_total",
        "apiserver_request_duration_seconds_bucket",
        "apiserver_request_duration_seconds_sum",
        "apiserver_request_duration_seconds_count",
        "apiserver_current_inflight_requests",
        "apiserver_longrunning_requests",
        "apiserver_registered_watchers",
        "apiserver_storage_objects",
        "apiserver_storage_db_total_size_in_bytes",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
    ],
)
def test_the_references_names_are_there(space: Space, name: str) -> None:
    with space.secrets.watch():
        space.secrets.list()
        assert samples(space.client, name)


def test_the_format_is_prometheus_text(client: Client) -> None:
    answer = client.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    for line in answer.text.splitlines():
        assert re.match(r"# (HELP|TYPE) \w+ |[a-z_:]+(\{.*\})? \S+$", line), line


def test_requests_are_counted_by_verb_resource_and_code(space: Space) -> None:
    labels = {"verb": "GET", "resource": "secrets", "group": "", "version": "v1"}
    item = {**labels, "code": "200", "scope": "resource"}
    missing = {**labels, "code": "404", "scope": "resource"}
    space.secrets.create("a")
    before = [value(space.client, "apiserver_request_total", **row) for row in (item, missing)]
    space.secrets.get("a")
    space.secrets.get("a")
    space.secrets.get("no")
    after = [value(space.client, "apiserver_request_total", **row) for row in (item, missing)]
    assert [now - then for now, then in zip(after, before, strict=True)] == [2, 1]


@pytest.mark.parametrize(
    ("verb", "scope"),
    [("LIST", "namespace"), ("LIST", "cluster"), ("POST", "resource"), ("DELETE", "resource")],
)
def test_verbs_are_named_as_in_the_reference(space: Space, verb: str, scope: str) -> None:
    def count() -> float:
        return value(space.client, "apiserver_request_total", verb=verb, resource="secrets")

    before = count()
    match verb, scope:
        case "LIST", "namespace":
            space.secrets.list()
        case "LIST", _:
            space.everywhere("secrets").list()
        case "POST", _:
            space.secrets.create("a")
        case _:
            space.secrets.delete("none")
    assert count() == before + 1


def test_durations_are_a_histogram_that_adds_up(space: Space) -> None:
    space.secrets.list()
    labels = {"verb": "LIST", "resource": "secrets"}
    name = "apiserver_request_duration_seconds"
    assert value(space.client, f"{name}_bucket", le="+Inf", **labels) == value(
        space.client, f"{name}_count", **labels
    )


def test_dry_runs_are_counted_apart(space: Space) -> None:
    def count(**labels: str) -> float:
        wanted = {"verb": "POST", "resource": "podtemplates", "component": "apiserver", **labels}
        return value(space.client, "apiserver_request_total", **wanted)

    before = count(dry_run="All"), count(dry_run="")
    path = space.collection("podtemplates").path
    template = {"metadata": {"name": "a"}, "template": {"spec": {"containers": [CONTAINER]}}}
    assert space.client.post(f"{path}?dryRun=All", template).status == 201
    assert (count(dry_run="All"), count(dry_run="")) == (before[0] + 1, before[1])


def test_sizes_of_bodies_are_counted(space: Space) -> None:
    def sizes(name: str, **labels: str) -> list[float]:
        return [
            value(space.client, f"{name}_{part}", group="", resource="secrets", **labels)
            for part in ("sum", "count")
        ]

    received, sent = "apiserver_request_body_size_bytes", "apiserver_response_sizes"
    before = sizes(received, verb="create"), sizes(sent, verb="GET")
    created = {"metadata": {"name": "a"}, "stringData": {"a": "x" * 1000}}
    space.client.post(space.secrets.path, created)
    length = len(space.secrets.get("a").text.encode())
    after = sizes(received, verb="create"), sizes(sent, verb="GET")
    assert after[0][0] >= before[0][0] + 1000
    assert after[0][1] == before[0][1] + 1
    assert after[1] == [before[1][0] + length, before[1][1] + 1]


def test_sizes_of_long_lists_are_counted(space: Space) -> None:
    def sent() -> float:
        labels = {"verb": "LIST", "resource": "secrets", "scope": "namespace"}
        return value(space.client, "apiserver_response_sizes_sum", **labels)

    for name in ("a", "b"):
        space.secrets.create(name, stringData={"a": "x" * 200_000})
    before = sent()
    length = len(space.secrets.list().text.encode())
    assert sent() == before + length


def test_connections_without_a_handshake_are_counted(space: Space) -> None:
    name = "apiserver_tls_handshake_errors_total"
    before = value(space.client, name)
    Wire(space.server, tls=False).sock.close()
    eventually(lambda: value(space.client, name) > before, "it is counted")


def test_stored_objects_are_counted(space: Space) -> None:
    before = value(space.client, "apiserver_storage_objects", resource="secrets")
    space.secrets.create_all("a", "b")
    assert value(space.client, "apiserver_storage_objects", resource="secrets") == before + 2
    space.secrets.remove("a")
    assert value(space.client, "apiserver_storage_objects", resource="secrets") == before + 1


def test_watches_are_counted_while_they_last(space: Space) -> None:
    def watching() -> float:
        return value(
            space.client, "apiserver_longrunning_requests", verb="WATCH", resource="podtemplates"
        )

    before = watching()
    with space.collection("podtemplates").watch(timeoutSeconds=1) as watch:
        assert watching() == before + 1
        watch.rest()
    assert watching() == before


def test_what_is_under_way_is_told_by_kind(client: Client) -> None:
    assert value(client, "apiserver_current_inflight_requests", request_kind="readOnly") >= 1
    assert value(client, "apiserver_current_inflight_requests", request_kind="mutating") == 0


def test_controllers_and_admission_are_counted(kubernetes: Space) -> None:
    kubernetes.client.post(
        "/api/v1/namespaces/is-not-there/configmaps", {"metadata": {"name": "a"}}
    )
    text = kubernetes.client.get("/metrics").text
    refused = 'fairlead_admission_refusals_total{operation="CREATE",plugin="NamespaceLifecycle"}'
    assert refused in text
    assert 'workqueue_adds_total{name="service-account-controller"}' in text
    assert 'workqueue_work_duration_seconds_count{name="service-account-controller"}' in text


def test_caches_tell_how_much_they_hold_and_may_hold(space: Space) -> None:
    space.client.get("/metrics")
    names = "decoded specs", "good pod specs", "unchanged applies", "field sets"
    for cache in (*names, "shapes of objects"):
        held = value(space.client, "fairlead_cache_bytes", cache=cache)
        assert 0 <= held <= value(space.client, "fairlead_cache_most_bytes", cache=cache)


def test_attempts_of_authentication_and_authorization_are_counted(space: Space) -> None:
    client = space.client

    def counted(name: str, result: str) -> float:
        return value(client, name, result=result)

    before = [
        counted("authentication_attempts", "success"),
        counted("authentication_attempts", "error"),
        counted("authorization_attempts_total", "no-opinion"),
    ]
    assert client.get("/api/v1/nodes", headers={"Authorization": "Bearer wrong"}).status == 401
    assert client.get("/api/v1/nodes", headers={"Impersonate-User": "nobody"}).status == 403
    assert counted("authentication_attempts", "success") > before[0]
    assert counted("authentication_attempts", "error") == before[1] + 1
    assert counted("authorization_attempts_total", "no-opinion") >= before[2] + 1
    assert counted("authorization_attempts_total", "allowed") > 0
    assert value(client, "authenticated_user_requests") > 0


def test_release_1_36_has_later_names(space_1_36: Space) -> None:
    client = space_1_36.client
    space_1_36.secrets.list()
    client.get(f"/api/v1/namespaces/{space_1_36.name}/endpoints")
    labels = {"verb": "LIST", "resource": "secrets"}
    total, served = (
        value(client, f"apiserver_request_{name}duration_seconds_count", **labels)
        for name in ("", "sli_")
    )
    assert 0 < total <= served
    assert value(client, "apiserver_resource_objects", group="", resource="namespaces") > 0
    assert value(client, "apiserver_storage_size_bytes") > 0
    events = value(client, "apiserver_storage_events_received_total", resource="secrets")
    space_1_36.secrets.create("a")
    assert value(client, "apiserver_storage_events_received_total", resource="secrets") > events
    assert value(client, "kubernetes_build_info", major="1", minor="36") == 1
    features = samples(client, "kubernetes_feature_enabled")
    assert {"name": "WatchList", "stage": "BETA"} in [each.labels for each in features]
    assert value(client, "workqueue_queue_duration_seconds_count") > 0
    assert value(client, "apiserver_requested_deprecated_apis", resource="endpoints") == 1
    assert 0 < value(client, "process_open_fds") < value(client, "process_max_fds")


def test_waiting_is_no_part_of_the_service_level() -> None:
    metrics = Metrics(cast("Store", Empty()), has_later_names=True)
    for waited in (2.98, 0.0):
        request = cast("Request", SimpleNamespace(**_REQUEST, waited=waited))
        metrics.answered(request, 200, 3.0)
    rows = {family.name: family.rows for family in metrics.families()}
    [row] = rows["apiserver_request_sli_duration_seconds"].values()
    assert isinstance(row, tuple)
    assert (row[0], row[10], row[-1]) == (1, 1, pytest.approx(3.02))
    [row] = rows["apiserver_request_duration_seconds"].values()
    assert isinstance(row, tuple)
    assert row[-1] == 6.0


CONTAINER = {"name": "c", "image": "i"}
_REQUEST = {
    "target": Target("/", "get"),
    "query": {},
    "method": "GET",
    "exchange": SimpleNamespace(sent_bytes=0),
}


class Empty:
    """A store without anything."""

    revision = 0

    def collections(self) -> tuple[()]:
        return ()

    def size(self) -> int:
        return 0


# What operators watch


def test_readiness_is_shown_until_the_server_ends(fresh_server: FreshServer) -> None:
    server = fresh_server("--shutdown-delay-duration=60s")
    client = server.client()
    assert value(client, "fairlead_ready") == 1
    server.signal(signal.SIGTERM)
    eventually(lambda: value(client, "fairlead_ready") == 0, "it shows that it is not ready")


def test_the_ends_of_certificates_and_the_room_on_disk_are_shown(server: ServerProcess) -> None:
    client = server.client()
    name = "fairlead_certificate_expiration_timestamp_seconds"
    for certificate, file in (("serving", "serving.crt"), ("ca", "ca.crt")):
        end = validity_of((server.data / "pki" / file).read_bytes()).end
        assert value(client, name, certificate=certificate) == end.timestamp()
    size = value(client, "fairlead_data_directory_size_bytes")
    assert size == shutil.disk_usage(server.data).total
    assert 0 < value(client, "fairlead_data_directory_free_bytes") <= size
    client.close()
