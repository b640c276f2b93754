"""`--tracing-config-file`: spans of requests arrive at a collector, by OTLP over gRPC."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support.client import Client, Object
from support.collector import Collector, Span, collecting
from support.etcd import Etcd, needs_etcd
from support.extension import HERE, RawExtension, Registered, bundle, fields
from support.namespaces import Space
from support.process import FreshServer, ServerProcess, failed_start
from support.waiting import eventually
from support.webhook import Hooked, WebhookServer

MAPS = "/api/v1/namespaces/default/configmaps"
_SERVER, _CLIENT = 2, 3
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNSAMPLED = PARENT[:-1] + "0"
ALL = 1_000_000


def tracing_file(
    directory: Path, endpoint: str, rate: int | None = ALL, version: str = "v1", **others: object
) -> str:
    """Write the file; returns the flag."""
    lines = [f"apiVersion: apiserver.config.k8s.io/{version}", "kind: TracingConfiguration"]
    given: Object = {"endpoint": endpoint, "samplingRatePerMillion": rate, **others}
    lines += [f"{name}: {value}" for name, value in given.items() if value is not None]
    file = directory / "tracing.yaml"
    file.write_text("\n".join(lines))
    return f"--tracing-config-file={file}"


class Traced(NamedTuple):
    server: ServerProcess
    collector: Collector
    client: Client

    def span_of(self, agent: str) -> Span:
        """The span of the request of a user agent."""
        return self.collector.root("user_agent.original", agent)

    def names_below(self, span: Span) -> list[str]:
        return [child.name for child in self.collector.below(span)]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    """A server of release 1.36 of which every request is sampled."""
    directory = tmp_path_factory.mktemp("traced")
    with collecting() as (collector, endpoint):
        flags = (*HERE, "--release=1.36", tracing_file(directory, endpoint))
        server = ServerProcess(directory, flags=flags).start()
        yield Traced(server, collector, server.client())
        server.stop()


def test_trace_of_a_create_has_its_steps(traced: Traced) -> None:
    agent = {"User-Agent": "creating/1"}
    begun = time.time_ns()
    answer = traced.client.post(MAPS, {"metadata": {"name": "steps"}}, headers=agent)
    assert answer.status == 201
    root = traced.span_of("creating/1")
    assert root.name == "POST /api/v1/namespaces/{:namespace}/configmaps"
    assert (root.parent, root.links, root.is_error) == ("", [], False)
    assert begun <= root.start < root.end <= time.time_ns()
    about = {"http.request.method": "POST", "http.response.status_code": 201, "http.target": MAPS}
    assert about.items() <= root.attributes.items()
    below = traced.collector.below(root)
    names = ["authentication", "authorization", "Create", "SerializeObject"]
    assert [span.name for span in below] == names
    assert all(root.start <= span.start <= span.end for span in below)
    [commit] = traced.collector.below(below[2])
    about = {"resource": "core/v1/configmaps", "key": "default/steps"}
    assert (commit.name, commit.attributes) == ("Commit", about)
    assert traced.collector.resource["service.name"] == "apiserver"


@pytest.mark.parametrize(
    ("method", "path", "name", "step"),
    [
        ("GET", "/version", "GET", "Handle"),
        ("GET", f"{MAPS}/kube-root-ca.crt", f"GET {MAPS}/{{:name}}", "Get"),
        ("GET", "/apis/apps/v1/deployments", "GET /apis/apps/v1/deployments", "List"),
        ("DELETE", f"{MAPS}/nothing", f"DELETE {MAPS}/{{:name}}", "Delete"),
        ("GET", "/api/v1/nodes/a/status", "GET /api/v1/nodes/{:name}/status", "Get"),
        ("GET", "/apis/example.com/v1/secret-name", "GET", "Handle"),
    ],
)
def test_name_of_a_span_has_no_name_of_an_object(
    traced: Traced, method: str, path: str, name: str, step: str
) -> None:
    agent = f"naming/{method}{path}"
    traced.client.request(method, path, headers={"User-Agent": agent})
    root = traced.span_of(agent)
    assert root.name == name.replace("/namespaces/default", "/namespaces/{:namespace}")
    assert step in traced.names_below(root) or root.attributes["http.response.status_code"] == 404


def test_trace_of_a_refused_request_ends_with_the_refusal(traced: Traced) -> None:
    nobody = traced.server.client("wrong")
    assert nobody.get("/api", headers={"User-Agent": "refused/1"}).status == 401
    root = traced.span_of("refused/1")
    assert root.attributes["http.response.status_code"] == 401
    assert traced.names_below(root) == ["authentication"]


def test_span_of_a_watch_ends_with_the_watch(traced: Traced) -> None:
    begun = time.monotonic()
    agent = {"User-Agent": "watching/1"}
    answer = traced.client.get(MAPS, watch="1", timeoutSeconds="1", headers=agent)
    assert answer.status == 200
    root = traced.span_of("watching/1")
    assert 0.8 < (root.end - root.start) / 1e9 < time.monotonic() - begun + 0.1


@pytest.mark.parametrize("sampled", [True, False])
def test_parent_named_by_a_privileged_user_decides(traced: Traced, sampled: bool) -> None:
    agent = f"parent/{sampled}"
    headers = {"User-Agent": agent, "traceparent": PARENT if sampled else UNSAMPLED}
    traced.client.get(MAPS, headers=headers)
    traced.client.get(MAPS, headers={"User-Agent": f"after/{sampled}"})
    traced.span_of(f"after/{sampled}")
    if sampled:
        root = traced.span_of(agent)
        assert (root.trace, root.parent) == (PARENT.split("-")[1], PARENT.split("-")[2])
    else:
        spans = traced.collector.spans
        assert not any(span.attributes.get("user_agent.original") == agent for span in spans)


@pytest.mark.parametrize("header", [PARENT, UNSAMPLED])
def test_parent_named_by_others_is_only_linked(traced: Traced, header: str) -> None:
    agent = f"linked/{header}"
    headers = {"User-Agent": agent, "traceparent": header}
    assert traced.server.client(None).get("/api", headers=headers).status == 403
    root = traced.span_of(agent)
    assert root.trace != PARENT.split("-")[1]
    assert (root.parent, root.links) == ("", [PARENT.split("-")[2]])


@pytest.mark.parametrize(
    "header",
    [
        "nonsense",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        f"ff{PARENT[2:]}",
        f"{PARENT}-more",
        PARENT.upper(),
        "x" * 5000,
    ],
)
def test_broken_parent_is_ignored(traced: Traced, header: str) -> None:
    agent = f"broken/{header[:40]}/{len(header)}"
    traced.client.get(MAPS, headers={"User-Agent": agent, "traceparent": header})
    root = traced.span_of(agent)
    assert (root.parent, root.links) == ("", [])


def test_hostile_text_is_valid_in_spans_and_credentials_are_redacted(traced: Traced) -> None:
    headers = {"User-Agent": "hostile/\x9b31m"}
    traced.client.get("/x%ff%0a?q=%zz&token=hunter2", headers=headers)
    root = traced.collector.root("http.target", "/x%EF%BF%BD%0A?q=%zz&token=REDACTED")
    assert str(root.attributes["user_agent.original"]).startswith("hostile/")


def test_webhook_is_called_with_the_trace(traced: Traced, tmp_path: Path) -> None:
    webhooks = WebhookServer(tmp_path)
    space = Space(traced.server, traced.client)
    hooks = Hooked(space, webhooks)
    try:
        paths = [hooks.mutate(), hooks.validate()]
        body = {"metadata": {"name": "called"}}
        path = f"/api/v1/namespaces/{space.name}/configmaps"
        answer = traced.client.post(path, body, headers={"User-Agent": "calling/1"})
        assert answer.status == 201
        root = traced.span_of("calling/1")
        below = {span.name: span for span in traced.collector.below(root)}
        steps = traced.collector.below(below["Create"])
        names = ["Call mutating webhook", "Call validating webhook", "Commit"]
        assert [span.name for span in steps] == names
        for step, called in zip(steps, paths, strict=False):
            [post] = traced.collector.below(step)
            assert (post.name, post.kind) == ("HTTP POST", _CLIENT)
            [head] = webhooks.headers[called]
            assert head["traceparent"] == post.header
            assert step.attributes["operation"] == "CREATE"
    finally:
        hooks.remove()
        webhooks.close()


@needs_etcd
def test_calls_to_etcd_are_steps_of_a_trace(fresh_server: FreshServer, tmp_path: Path) -> None:
    etcd = Etcd(tmp_path / "etcd").start()
    with collecting() as (collector, endpoint):
        flags = ("--storage=etcd", "--etcd-servers", etcd.url, "--release=1.36")
        server = fresh_server(*flags, tracing_file(tmp_path, endpoint))
        agent = {"User-Agent": "etcd/1"}
        server.client().post(MAPS, {"metadata": {"name": "a"}}, headers=agent)
        root = collector.root("user_agent.original", "etcd/1")
        spans = [span for span in collector.spans if span.trace == root.trace]
        server.stop()
    etcd.close()
    assert any(span.name.startswith("etcdserverpb.KV/") for span in spans)


def test_extension_server_gets_the_trace(traced: Traced, tmp_path: Path) -> None:
    extension = RawExtension(tmp_path)
    group = Registered(traced.server, extension.port, caBundle=bundle(extension.ca))
    try:
        headers = {"User-Agent": "relayed/1", "traceparent": PARENT}
        assert traced.client.get(f"{group.path}/things", headers=headers).status == 200
        root = traced.span_of("relayed/1")
        [handling] = [s for s in traced.collector.below(root) if s.name == "List"]
        [call] = traced.collector.below(handling)
        assert (call.name, call.kind) == ("HTTP GET", _CLIENT)
        [head] = [head for head in extension.heads if b"relayed/1" in head]
        assert fields(head, "traceparent") == [call.header]
    finally:
        group.remove()
        extension.close()


def test_parent_based_sampling_needs_no_rate(fresh_server: FreshServer, tmp_path: Path) -> None:
    with collecting() as (collector, endpoint):
        server = fresh_server("--release=1.36", tracing_file(tmp_path, endpoint, None))
        client = server.client()
        for number in range(20):
            client.get(MAPS, headers={"User-Agent": f"plain/{number}"})
        client.get(MAPS, headers={"User-Agent": "traced/1", "traceparent": PARENT})
        nobody = server.client(None)
        nobody.get("/api", headers={"User-Agent": "untrusted/1", "traceparent": PARENT})
        collector.root("user_agent.original", "traced/1")
        server.stop()
        roots = [span for span in collector.spans if span.kind == _SERVER]
        assert [span.attributes["user_agent.original"] for span in roots] == ["traced/1"]


def test_release_1_25_names_its_spans_as_it_did(fresh_server: FreshServer, tmp_path: Path) -> None:
    with collecting() as (collector, endpoint):
        file = tracing_file(tmp_path, endpoint, version="v1alpha1")
        server = fresh_server("--release=1.25", "--feature-gates=APIServerTracing=true", file)
        server.client().get(MAPS, headers={"User-Agent": "old/1", "traceparent": PARENT})
        eventually(lambda: any(s.kind == _SERVER for s in collector.spans), "a span arrives")
        [root] = [s for s in collector.spans if s.attributes.get("http.user_agent") == "old/1"]
        assert (root.name, root.links) == ("KubernetesAPI", [PARENT.split("-")[2]])
        assert root.attributes["http.status_code"] == 200


def test_spans_are_sent_before_an_orderly_stop_ends(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    socket = tmp_path / "collector"
    with collecting(f"unix:{socket}") as (collector, _):
        server = fresh_server("--release=1.36", tracing_file(tmp_path, f"unix://{socket}"))
        server.client().get(MAPS, headers={"User-Agent": "last/1"})
        server.stop()
        agents = [span.attributes.get("user_agent.original") for span in collector.spans]
        assert "last/1" in agents


def test_collector_that_is_away_costs_spans_and_one_line(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    with collecting() as (collector, endpoint):
        collector.refuses = True
        server = fresh_server("--release=1.36", tracing_file(tmp_path, endpoint))
        client = server.client()
        for _ in range(5):
            assert client.get(MAPS).status == 200
            time.sleep(0.3)
        dropped = 'fairlead_trace_spans_dropped_total{reason="RESOURCE_EXHAUSTED"}'
        eventually(lambda: dropped in client.get("/metrics").text, "drops are counted")
        text = server.log.read_text()
        assert text.count("traces cannot be exported") == 1
        collector.refuses = False
        client.get(MAPS, headers={"User-Agent": "again/1"})
        collector.root("user_agent.original", "again/1")
        assert "fairlead_trace_spans_exported_total" in client.get("/metrics").text
        begun = time.monotonic()
        server.stop()
        assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    ("given", "flags", "message"),
    [
        ({"rate": -1}, (), "samplingRatePerMillion: -1 is not from 0 to 1000000"),
        ({"rate": 1_000_001}, (), "samplingRatePerMillion: 1000001 is not from 0 to 1000000"),
        ({"rate": "many"}, (), "samplingRatePerMillion: "),
        ({"endpoint": "http://x:4317"}, (), 'endpoint: "http://x:4317" is not host:port, dns://'),
        ({"endpoint": "x:70000"}, (), 'endpoint: "x:70000" is not host:port'),
        ({"endpoint": '"a b"'}, (), 'endpoint: "a b" is not host:port'),
        ({"endpoint": "unix://"}, (), 'endpoint: "unix://" has no path'),
        ({"endpoints": "x:1"}, (), "endpoints: unknown field"),
        ({"version": "v2"}, (), "apiVersion: "),
        ({"version": "v1"}, ("--release=1.25",), "the feature gate APIServerTracing is off"),
    ],
)
def test_wrong_configuration_is_refused_in_a_line(
    tmp_path: Path, given: Object, flags: tuple[str, ...], message: str
) -> None:
    file = tracing_file(tmp_path, **{"endpoint": "localhost:4317", **given})
    ended = failed_start(tmp_path, "--release=1.36", *flags, file)
    assert ended.returncode == 1
    assert ended.stderr.startswith("fairlead: --tracing-config-file: ")
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1
