"""The last hour of a server, as the console draws it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from support.client import Client
from support.console import sign_in
from support.namespaces import Space
from support.process import ServerProcess

from fairlead.api.metrics import Metrics
from fairlead.api.routing import Target
from fairlead.console.samples import MAX_BYTES, MAX_SAMPLES, Recorder

PATH = "/console/server"


def now(client: Client) -> dict[str, Any]:
    answer = client.get(PATH)
    assert answer.status == 200, answer.text
    sample: dict[str, Any] = answer.body["now"]
    return sample


def count_of(client: Client, name: str) -> float:
    """How often something was asked, by verb and code, as far as samples are kept."""
    body = client.get(PATH).body
    samples = [*body["samples"], body["now"]]
    counts: list[float] = [sample["requests"].get(name, 0) for sample in samples]
    return sum(counts)


def test_requests_are_counted_by_verb_and_code(kubernetes: Space) -> None:
    client = kubernetes.server.client()
    names = ("POST 201", "POST 409", "DELETE 200")
    before = [count_of(client, name) for name in names]
    kubernetes.config_maps.create("a")
    for _ in range(2):
        assert kubernetes.client.post(kubernetes.config_maps.path, {"metadata": {"name": "a"}})
    kubernetes.config_maps.delete("a")
    after = [count_of(client, name) for name in names]
    assert [b - a for a, b in zip(before, after, strict=True)] == [1, 2, 1]


def test_a_sample_tells_how_things_stand(any_server: ServerProcess) -> None:
    sample = now(any_server.client())
    assert sample["objects"] > 50
    assert sample["revision"] >= sample["objects"]
    assert sample["bytes"] > 10_000
    assert sample["memory"] > 10_000_000
    assert {"watches", "underWay", "queued", "stalls", "rejected", "failedCommits"} <= sample.keys()


def test_it_takes_the_right_to_read_metrics(server: ServerProcess) -> None:
    assert server.client(sign_in(server)["token"]).get(PATH).status == 200
    refused = server.client("alice-token").get(PATH)
    assert refused.status == 403
    assert 'cannot get path "/metrics"' in refused.body["message"]
    assert server.client(None).get(PATH).status in (401, 403)


def test_who_may_read_metrics_may_read_samples(kubernetes: Space) -> None:
    group = "/apis/rbac.authorization.k8s.io/v1"
    name = f"metrics-{kubernetes.name}"
    rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    role = {"metadata": {"name": name}, "rules": [rule]}
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    client, alice = kubernetes.client, kubernetes.server.client("alice-token")
    assert client.post(f"{group}/clusterroles", role).status == 201
    assert client.post(f"{group}/clusterrolebindings", binding).status == 201
    assert alice.get(PATH).status == 200
    client.delete(f"{group}/clusterrolebindings/{name}")
    client.delete(f"{group}/clusterroles/{name}")
    assert alice.get(PATH).status == 403


@pytest.mark.parametrize("query", ["since=x", "since=nan", "process=inf"])
def test_numbers_that_are_none_are_refused(server: ServerProcess, query: str) -> None:
    assert server.client().get(f"{PATH}?{query}").status == 400


class _Exchange:
    sent_bytes = 100


class _Request:
    """As much of a request as is counted."""

    target = Target("/", "get")
    query: dict[str, list[str]] = {}
    waited = 0.0
    is_body_read = False
    exchange = _Exchange()

    def __init__(self, method: str) -> None:
        self.method = method


class _Store:
    """As much of a store as a sample tells of."""

    revision = 7

    def collections(self) -> list[range]:
        return [range(3), range(4)]

    def size(self) -> int:
        return 4096


class _Recording:
    """A recorder whose clock is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0
        store: Any = _Store()
        self.metrics = Metrics(store)
        self.recorder = Recorder(
            self.metrics, store, 0.0, lambda: (1000 + self.seconds, self.seconds)
        )

    def answered(self, method: str, code: int, seconds: float) -> None:
        request: Any = _Request(method)
        self.metrics.answered(request, code, seconds)

    def after(self, seconds: float, *answers: tuple[str, float]) -> None:
        """Answer requests by method and duration, and take a sample."""
        for method, duration in answers:
            self.answered(method, 200, duration)
        self.seconds += seconds
        self.recorder.sample()

    def document(self, since: float = 0) -> Any:
        return json.loads(self.recorder.document(since, process=0))


def test_samples_hold_what_happened_since_the_one_before() -> None:
    recording = _Recording()
    recording.after(10, ("GET", 0.001), ("GET", 0.001), ("POST", 0.02))
    recording.after(5, ("GET", 0.001))
    first, second = recording.document()["samples"]
    assert (first["requests"], first["seconds"]) == ({"GET 200": 2, "POST 200": 1}, 10)
    assert (second["requests"], second["seconds"]) == ({"GET 200": 1}, 5)
    assert (first["objects"], first["revision"], first["bytes"]) == (7, 7, 4096)
    assert recording.document()["now"]["requests"] == {}


def test_half_and_99_of_100_answers_took_at_most_so_long() -> None:
    recording = _Recording()
    quick, slow = [("GET", 0.001)] * 90, [("GET", 0.5)] * 10
    recording.after(10, *quick, *slow, ("PUT", 0.03))
    sample = recording.document()["samples"][0]
    count, half, most = sample["reads"]
    assert count == 100
    assert half == pytest.approx(0.001, rel=0.5)
    assert most == pytest.approx(0.5, rel=0.5)
    assert sample["writes"][0] == 1
    recording.after(10)
    assert recording.document()["samples"][1]["reads"] == [0, 0, 0]


def test_only_later_samples_are_told() -> None:
    recording = _Recording()
    for _ in range(3):
        recording.after(10)
    times = [sample["time"] for sample in recording.document(since=1010)["samples"]]
    assert times == [1020, 1030]


def test_an_hour_is_kept_in_bounded_memory() -> None:
    recording = _Recording()
    for _ in range(MAX_SAMPLES + 5):
        recording.after(10)
    document = recording.document()
    assert len(document["samples"]) == MAX_SAMPLES
    assert document["samples"][0]["time"] == 1060
    for step in range(300):  # each tells of hundreds of codes
        for code in range(200, 600):
            recording.answered("GET", code, 0.001 * step)
        recording.after(10)
    assert len(recording.recorder.document(0)) <= MAX_BYTES + 20_000


def test_a_sample_costs_little() -> None:
    recording = _Recording()
    for method in ("GET", "PUT", "POST"):
        for code in (200, 201, 404, 409):
            recording.answered(method, code, 0.001)
    began = time.process_time()
    for _ in range(100):
        recording.after(10)
    assert time.process_time() - began < 0.2  # 2 ms each, on the slowest of machines
