"""Binding, eviction and streams of pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.client import Answer, Object, Query
from support.namespaces import Collection, Space
from support.process import ServerProcess

SPEC = {
    "automountServiceAccountToken": False,
    "containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}],
}
REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


@pytest.fixture(scope="module")
def unattended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server without controllers."""
    directory = tmp_path_factory.mktemp("unattended")
    running = ServerProcess(directory, flags=("--controllers=-*",)).start()
    yield running
    running.stop()


@pytest.fixture
def kubernetes(unattended: ServerProcess) -> Iterator[Space]:
    client = unattended.client()
    yield Space(unattended, client)
    client.close()


@pytest.fixture
def pods(kubernetes: Space) -> Collection:
    kubernetes.ready_for_pods()
    return kubernetes.collection("pods")


@pytest.fixture
def budgets(kubernetes: Space) -> Collection:
    return kubernetes.collection("poddisruptionbudgets", "policy")


def _running(pods: Collection, name: str = "p", **labels: str) -> Object:
    """A pod that runs and is ready, as its node would report it."""
    pod = pods.create(name, labels=labels or {"app": "x"}, spec={**SPEC, "nodeName": "n"})
    pod["status"] |= {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    answer = pods.client.put(pods.item(name, "status"), pod)
    assert answer.status == 200, answer.text
    running: Object = answer.body
    return running


def _bind(pods: Collection, name: str, **fields: Any) -> Answer:
    body = {"metadata": {"name": name}, "target": {"name": "node"}, **fields}
    return pods.client.post(pods.item("p", "binding"), body)


def _evict(pods: Collection, name: str = "p", **fields: Any) -> Answer:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **fields}
    return pods.client.post(pods.item("p", "eviction"), body)


def _budget(budgets: Collection, name: str = "b", **status: Any) -> None:
    """Return a budget with this status, as its controller would write it."""
    selector = {"matchLabels": {"app": "x"}}
    budget = budgets.create(name, spec={"minAvailable": 1, "selector": selector})
    generation = budget["metadata"]["generation"]
    budget["status"] |= {"observedGeneration": generation, "expectedPods": 1, **status}
    answer = budgets.client.put(budgets.item(name, "status"), budget)
    assert answer.status == 200, answer.text


def test_binding_assigns_a_node(pods: Collection) -> None:
    pods.create("p", spec=SPEC)
    annotated = {"name": "p", "annotations": {"by": "scheduler"}}
    answer = _bind(pods, "p", metadata=annotated)
    assert (answer.status, answer.body["status"]) == (201, "Success")
    bound = pods.read("p")
    assert bound["spec"]["nodeName"] == "node"
    assert bound["metadata"]["annotations"] == {"by": "scheduler"}
    [condition] = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


def test_pods_are_bound_once(pods: Collection) -> None:
    pods.create("p", spec=SPEC)
    assert _bind(pods, "p").status == 201
    again = _bind(pods, "p")
    assert again.status == 409
    assert again.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node'
        ' "node"'
    )


def test_binding_is_checked(pods: Collection) -> None:
    assert _bind(pods, "p").status == 404
    pods.create("p", spec=SPEC)
    assert _bind(pods, "q").message == "name in URL does not match name in Binding object"
    assert _bind(pods, "p", target={"kind": "Node"}).status == 422
    assert _bind(pods, "p", metadata={"name": "p", "uid": "another"}).status == 409
    assert "nodeName" not in pods.read("p")["spec"]


def test_pending_pods_are_evicted_at_once(pods: Collection, budgets: Collection) -> None:
    _budget(budgets, disruptionsAllowed=0, currentHealthy=0, desiredHealthy=1)
    pods.create("p", labels={"app": "x"}, spec=SPEC)
    assert _evict(pods).status == 201
    assert pods.get("p").status == 404


def test_eviction_without_a_budget_deletes(pods: Collection) -> None:
    _running(pods)
    answer = _evict(pods, deleteOptions={"gracePeriodSeconds": 5})
    assert (answer.status, answer.body["code"]) == (201, 201)
    assert pods.read("p")["metadata"]["deletionGracePeriodSeconds"] == 5


def test_an_evicted_pod_carries_the_reason(space_1_36: Space) -> None:
    space_1_36.ready_for_pods()
    pods = space_1_36.collection("pods")
    _running(pods)
    revision = pods.read("p")["metadata"]["resourceVersion"]
    unlike = _evict(pods, deleteOptions={"preconditions": {"resourceVersion": "1"}})
    assert unlike.status == 409
    assert unlike.message == (
        'Operation cannot be fulfilled on Pod "p": the ResourceVersion in the precondition (1) does'
        f" not match the ResourceVersion in record ({revision}). The object might have been"
        " modified"
    )
    assert _evict(pods, deleteOptions={"dryRun": ["All"]}).status == 201
    assert pods.read("p")["metadata"]["resourceVersion"] == revision
    assert (
        _evict(pods, deleteOptions={"preconditions": {"resourceVersion": revision}}).status == 201
    )
    pod = pods.read("p")
    assert "deletionTimestamp" in pod["metadata"]
    condition = pod["status"]["conditions"][-1]
    assert condition.pop("lastTransitionTime")
    assert list(condition.items()) == [
        ("type", "DisruptionTarget"),
        ("status", "True"),
        ("lastProbeTime", None),
        ("reason", "EvictionByEvictionAPI"),
        ("message", "Eviction API: evicting"),
    ]


def test_a_budget_without_room_refuses(pods: Collection, budgets: Collection) -> None:
    _running(pods)
    _budget(budgets, disruptionsAllowed=0, currentHealthy=1, desiredHealthy=1)
    answer = _evict(pods)
    assert (answer.status, answer.message) == (429, REFUSED)
    detail = "The disruption budget b needs 1 healthy pods and has 1 currently"
    assert answer.causes == [("", "DisruptionBudget", detail)]
    assert "deletionTimestamp" not in pods.read("p")["metadata"]


def test_a_budget_that_is_not_up_to_date_refuses_for_now(
    pods: Collection, budgets: Collection
) -> None:
    _running(pods)
    budgets.create("b", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}})
    answer = _evict(pods)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "10")


def test_a_budget_with_room_is_used_up(pods: Collection, budgets: Collection) -> None:
    _running(pods)
    _budget(budgets, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1)
    dry = {"dryRun": ["All"]}
    assert _evict(pods, deleteOptions=dry).status == 201
    assert budgets.read("b")["status"]["disruptionsAllowed"] == 1
    assert _evict(pods).status == 201
    status = budgets.read("b")["status"]
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["p"]
    [condition] = status["conditions"]
    assert (condition["type"], condition["reason"]) == ("DisruptionAllowed", "InsufficientPods")


def test_two_budgets_are_one_too_many(pods: Collection, budgets: Collection) -> None:
    _running(pods)
    for name in ("a", "b"):
        _budget(budgets, name, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1)
    answer = _evict(pods)
    assert answer.status == 500
    assert answer.message.startswith("This pod has more than one PodDisruptionBudget")


def test_eviction_preconditions(pods: Collection) -> None:
    _running(pods)
    options = {"preconditions": {"uid": "another"}}
    assert _evict(pods, deleteOptions=options).status == 409
    assert _evict(pods, "q").message == "name in URL does not match name in Eviction object"


def test_logs_of_a_pod_without_a_node_are_empty(pods: Collection) -> None:
    pods.create("p", spec=SPEC)
    answer = pods.client.get(pods.item("p", "log"), container="c")
    assert (answer.status, answer.raw) == (204, b"")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            {},
            "a container name must be specified for pod p, choose one of: [c d]",
        ),
        ({"container": "x"}, "container x is not valid for pod p"),
    ],
)
@pytest.mark.parametrize("what", ["log", "exec", "attach"])
def test_containers_must_be_named(
    pods: Collection, what: str, query: dict[str, Query], message: str
) -> None:
    pods.create("p", spec=SPEC)
    answer = pods.client.get(pods.item("p", what), **query)
    assert (answer.status, answer.message) == (400, message)


def test_log_options(pods: Collection) -> None:
    pods.create("p", spec=SPEC)
    answer = pods.client.get(pods.item("p", "log"), tailLines=-1, limitBytes=0, sinceSeconds=0)
    assert answer.status == 422
    assert [field for field, _, _ in answer.causes] == ["tailLines", "limitBytes", "sinceSeconds"]


@pytest.mark.parametrize("what", ["exec", "attach", "portforward"])
def test_streams_need_a_node(pods: Collection, what: str) -> None:
    pods.create("p", spec=SPEC)
    answer = pods.client.post(pods.item("p", what), None, container="c")
    assert (answer.status, answer.message) == (400, "pod p does not have a host assigned")


def test_unknown_nodes(pods: Collection) -> None:
    _running(pods)
    answer = pods.client.get(pods.item("p", "log"), container="c")
    assert (answer.status, answer.message) == (404, 'nodes "n" not found')


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("pods/none/proxy/x", 404, 'pods "none" not found'),
        ("pods/a:b:c:d/proxy", 400, 'invalid pod request "a:b:c:d"'),
        ("services/none/proxy", 404, 'services "none" not found'),
        ("services/:x:y:z/proxy", 400, 'invalid service request ":x:y:z"'),
    ],
)
def test_proxies(kubernetes: Space, path: str, status: int, message: str) -> None:
    answer = kubernetes.client.get(f"/api/v1/namespaces/{kubernetes.name}/{path}")
    assert (answer.status, answer.message) == (status, message)


def test_proxy_to_a_pod_without_an_address(pods: Collection) -> None:
    pods.create("p", spec=SPEC)
    answer = pods.client.get(pods.item("p", "proxy"))
    assert (answer.status, answer.message) == (400, "address not allowed")
