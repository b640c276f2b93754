"""Simulated nodes that fail by command or annotation: silent, not ready, rebooting, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support.client import Object
from support.commands import Commands
from support.namespaces import Space
from support.process import MOVABLE_CLOCK, FreshServer, ServerProcess
from support.simulation import PREFIX, Pods, await_nodes, behaviour, container
from support.waiting import eventually


@pytest.fixture(scope="module", params=["kubernetes", "cluster"])
def failing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """A server whose nodes the tests of this module make fail."""
    directory = tmp_path_factory.mktemp(f"failing-{request.param}")
    flags = ("--simulate-nodes", "2")
    server = ServerProcess(directory, request.param, flags, MOVABLE_CLOCK).start()
    await_nodes(server, 2)
    yield server
    server.stop()


class Node:
    """A simulated node, the command line, and the pods of a namespace."""

    name = "simulated-0"

    def __init__(self, space: Space) -> None:
        self.pods = Pods(space)
        self.fairlead = Commands(space)

    def simulate(self, *flags: str) -> str:
        return self.fairlead("simulate", "node", self.name, *flags)

    def annotate(self, **annotations: str | None) -> None:
        changes = {PREFIX + key.replace("_", "-"): text for key, text in annotations.items()}
        answer = self.pods.nodes.patch(self.name, {"metadata": {"annotations": changes}})
        assert answer.status == 200

    def read(self) -> Object:
        return self.pods.nodes.read(self.name)

    def annotations(self) -> dict[str, str]:
        texts: dict[str, str] = self.read()["metadata"]["annotations"]
        return {
            key.removeprefix(PREFIX): text for key, text in texts.items() if key.startswith(PREFIX)
        }

    def condition(self, kind: str = "Ready") -> Object:
        conditions = self.read()["status"]["conditions"]
        return next(condition for condition in conditions if condition["type"] == kind)

    def await_status(self, status: str, kind: str = "Ready") -> Object:
        eventually(lambda: self.condition(kind)["status"] == status, f"{kind} is {status}")
        return self.condition(kind)

    def events(self) -> list[Object]:
        items = self.pods.space.client.get("/api/v1/events").body["items"]
        return [item for item in items if item["involvedObject"]["name"] == self.name]

    def await_event(self, reason: str, text: str = "") -> Object:
        def found() -> list[Object]:
            events = self.events()
            return [e for e in events if e["reason"] == reason and text in e["message"]]

        eventually(lambda: bool(found()), f"an event {reason}")
        return found()[0]

    def later(self, what: str, holds: Callable[[], bool], step: float = 5) -> None:
        """Wait while the clock runs fast."""

        def moved() -> bool:
            self.pods.server.advance(step)
            return holds()

        eventually(moved, what)


@pytest.fixture
def node(failing: ServerProcess) -> Iterator[Node]:
    client = failing.client()
    node = Node(Space(failing, client))
    yield node
    node.simulate("--ready")
    node.await_status("True")
    node.pods.clear()
    client.close()


def test_a_silent_node_is_lost_its_pods_are_replaced_and_it_comes_back_by_itself(
    node: Node,
) -> None:
    node.pods.create("p", nodeName=node.name)
    node.pods.await_ready()
    assert node.simulate("--silent", "500h") == f"node/{node.name} silent for 500h\n"
    node.later("it is missed", lambda: node.condition()["status"] == "Unknown")
    node.later("its pod is to go", lambda: "deletionTimestamp" in node.pods.read()["metadata"], 30)
    node.pods.server.advance(500 * 3600)
    node.await_status("True")
    node.pods.await_gone()
    assert not node.annotations()


def test_a_silent_node_comes_back_though_the_server_was_restarted(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--simulate-nodes=1", prelude=MOVABLE_CLOCK)
    await_nodes(server, 1)
    node = Node(Space(server, server.client()))
    node.simulate("--silent", "1s")
    eventually(lambda: "Z" in node.annotations()["node-state-until"], "its end is known")
    server.kill()
    server.start()
    node = Node(Space(server, server.client()))
    eventually(lambda: not node.annotations(), "it is back")


def test_a_node_is_not_ready_for_a_time(node: Node) -> None:
    assert node.simulate("--not-ready", "1h") == f"node/{node.name} not ready for 1h\n"
    assert node.await_status("False")["reason"] == "KubeletNotReady"
    node.await_event("NodeNotReady")
    node.pods.server.advance(3600)
    node.await_status("True")
    node.await_event("NodeReady", f"Node {node.name} status is now: NodeReady")


def test_a_reboot_restarts_containers_and_ends_pods_that_do_not_restart(node: Node) -> None:
    pods, sleeping = node.pods, container(command=["sleep", "9999"])
    pods.create("lasting", nodeName=node.name, initContainers=[container("first")])
    pods.create("retried", sleeping, nodeName=node.name, restartPolicy="OnFailure")
    pods.create("once", sleeping, nodeName=node.name, restartPolicy="Never")
    pods.create("done", nodeName=node.name, annotations=behaviour(exit_after="0s", exit_code="0"))
    pods.await_ready("lasting", "retried", "once")
    before = node.read()["status"]["nodeInfo"]["bootID"]
    assert node.simulate("--reboot") == f"node/{node.name} rebooting\n"
    assert node.await_status("False")["message"] == "node is shutting down"
    node.pods.server.advance(10)
    node.await_status("True")
    boot = node.read()["status"]["nodeInfo"]["bootID"]
    assert boot != before
    node.await_event("Rebooted", f"Node {node.name} has been rebooted, boot id: {boot}")
    eventually(lambda: restarts(pods, "lasting") == restarts(pods, "retried") == 1, "they restart")
    pods.await_ready("lasting", "retried")
    last = pods.status("lasting")["containerStatuses"][0]["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (255, "Unknown")
    assert pods.status("lasting")["initContainerStatuses"][0]["restartCount"] == 1
    ended = pods.await_phase("Failed", "once")["containerStatuses"][0]
    assert ended["restartCount"] == 0
    assert ended["state"]["terminated"]["exitCode"] == 255
    pods.await_event("SandboxChanged", "lasting")


def restarts(pods: Pods, name: str) -> int:
    count: int = pods.status(name)["containerStatuses"][0]["restartCount"]
    return count


@pytest.mark.parametrize(
    ("annotations", "text"),
    [
        ({"node_state": "asleep"}, 'node-state: "asleep" is none of ready, not-ready, unreachable'),
        ({"pressure": "memory,heat"}, 'pressure: "heat" is none of memory, disk, pid'),
        ({"node_state_until": "soon"}, 'node-state-until: "soon" is neither a duration such as 5s'),
        ({"node_state_until": "999999h"}, 'node-state-until: "999999h" is neither a duration'),
        ({"booted": "once"}, 'booted: "once" is not a time'),
        ({"runtime_handlers": "runc,"}, 'runtime-handlers: "" is not the name of a handler'),
    ],
)
def test_an_annotation_that_means_nothing_is_an_event_of_the_node(
    node: Node, annotations: dict[str, str], text: str
) -> None:
    node.annotate(**annotations)
    node.await_event("InvalidSimulation", text)
    node.annotate(**dict.fromkeys(annotations))
    assert node.condition()["status"] == "True"


def test_annotations_can_give_a_time(node: Node) -> None:
    node.annotate(node_state="not-ready", node_state_until="2199-12-31T23:59:59Z")
    node.await_status("False")
    node.annotate(node_state_until="2019-12-31T23:59:59Z")
    node.await_status("True")
    assert not node.annotations()


def test_a_deleted_silent_node_stays_away(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=1", prelude=MOVABLE_CLOCK)
    await_nodes(server, 1)
    node = Node(Space(server, server.client()))
    node.simulate("--silent", "1m")
    node.pods.nodes.remove(node.name)
    server.advance(61)
    assert node.pods.nodes.names() == []
    assert "Traceback" not in server.log.read_text()


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), "give --silent, --not-ready, --reboot, --pressure or --ready"),
        (("--silent", "long"), '--silent: "long" is not a duration such as 5s or 1m30s'),
        (("--silent", "0s"), "--silent: it must be longer than no time at all"),
        (("--not-ready", "999999h"), '--not-ready: "999999h" is out of range'),
        (("--silent", "1m", "--reboot"), "exclude each other"),
        (("--ready", "--pressure", "pid"), "exclude each other"),
        (("--pressure", "heat=1m"), '--pressure: "heat" is none of memory, disk, pid'),
        (("--all", "--ready"), "name nodes, or give -l LABELS or --all"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(node: Node, flags: tuple[str, ...], text: str) -> None:
    ran = node.fairlead.run("simulate", "node", node.name, *flags)
    assert ran.code == 1
    assert text in ran.errors


def test_nodes_are_chosen_by_name_labels_or_all(node: Node) -> None:
    flags = ("--pressure", "pid=1s", "--dry-run=server", "-o", "name")
    label = node.pods.space.dialect.label("@/hostname")
    for chosen, names in (
        (("simulated-1", "simulated-0"), ["simulated-1", "simulated-0"]),
        (("-l", f"{label}=simulated-1"), ["simulated-1"]),
        (("--all",), ["simulated-0", "simulated-1"]),
    ):
        out = node.fairlead("simulate", "node", *chosen, *flags)
        assert out.splitlines() == [f"node/{name}" for name in names]


def test_only_simulated_nodes_are_simulated_and_only_by_those_who_may(node: Node) -> None:
    node.pods.nodes.create("real")
    ran = node.fairlead.run("simulate", "node", "real", "nowhere", "--ready")
    assert 'node "real" is not simulated' in ran.errors
    assert 'nodes "nowhere" not found' in ran.errors
    node.pods.nodes.remove("real")
    ran = node.fairlead.run("simulate", "node", node.name, "--ready", "--as", "nobody")
    assert ran.code == 1
    assert 'User "nobody" cannot get resource "nodes"' in ran.errors


PRESSURES = {
    "memory": ("MemoryPressure", "KubeletHasInsufficientMemory", "NodeHasInsufficientMemory"),
    "disk": ("DiskPressure", "KubeletHasDiskPressure", "NodeHasDiskPressure"),
    "pid": ("PIDPressure", "KubeletHasInsufficientPID", "NodeHasInsufficientPID"),
}


@pytest.mark.parametrize("kind", PRESSURES)
def test_a_node_under_pressure_says_so_and_is_tainted_for_the_time(node: Node, kind: str) -> None:
    condition, reason, event = PRESSURES[kind]
    told = node.simulate("--pressure", f"{kind}=1h")
    assert told == f"node/{node.name} short of {kind} for 1h\n"
    assert node.await_status("True", condition)["reason"] == reason
    node.await_event(event)
    taint = node.pods.space.dialect.label(f"node.@/{kind}-pressure")

    def taints() -> list[str]:
        return [taint["key"] for taint in node.read()["spec"].get("taints", [])]

    eventually(lambda: taints() == [taint], "it is tainted")
    assert node.condition("Ready")["status"] == "True"
    node.pods.server.advance(3600)
    node.await_status("False", condition)
    eventually(lambda: not taints(), "it is free again")


def using(requested: str, **fields: str) -> Object:
    return container(resources={"requests": {"memory": requested}}, **fields)


def test_pods_are_evicted_one_by_one_those_that_exceed_their_requests_first(
    pods_1_36: Pods,
) -> None:
    node = Node(pods_1_36.space)
    pods = node.pods
    script = {f"{PREFIX}script": "usage: {memory: 2Gi}"}
    pods.create("fitting", using("1Gi"), nodeName=node.name)
    pods.create("greedy", using("1Gi"), nodeName=node.name, annotations=script)
    pods.create("unrequested", nodeName=node.name)
    pods.create("vital", nodeName=node.name, priorityClassName="system-node-critical")
    names = ["greedy", "unrequested", "fitting"]
    pods.await_ready(*names, "vital")
    node.simulate("--pressure", "memory")
    for position, name in enumerate(names):
        status = pods.await_phase("Failed", name)
        assert status["reason"] == "Evicted"
        assert "The node was low on resource: memory. Threshold quantity: " in status["message"]
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
        target = pods.condition(name, "DisruptionTarget")
        assert (target["status"], target["reason"]) == ("True", "TerminationByKubelet")
        pods.await_event("Evicted", name)
        assert all(pods.is_ready(other) for other in names[position + 1 :])
        pods.server.advance(10)
    wanted = "Container c was using 2Gi, request is 1Gi, has larger consumption of memory. "
    assert wanted in pods.status("greedy")["message"]
    assert pods.is_ready("vital")
    node.simulate("--ready")
    node.await_status("False", "MemoryPressure")


def test_a_node_under_memory_pressure_takes_only_pods_with_requests(node: Node) -> None:
    pods = node.pods
    node.simulate("--pressure", "memory")
    node.await_status("True", "MemoryPressure")
    key = pods.space.dialect.label("node.@/memory-pressure")
    pods.create("plain", nodeName=node.name)
    status = pods.await_phase("Failed", "plain")
    assert status["reason"] == "Evicted"
    assert status["message"] == ("Pod was rejected: The node had condition: [MemoryPressure]. ")
    pods.create("asking", using("1Mi"), nodeName=node.name)
    pods.create("tolerant", nodeName=node.name, tolerations=[{"key": key, "operator": "Exists"}])
    pods.await_ready("asking", "tolerant")
    node.simulate("--pressure", "disk,memory")
    node.await_status("True", "DiskPressure")
    pods.create("late", using("1Mi"), nodeName=node.name)
    told = pods.await_phase("Failed", "late")["message"]
    assert "[MemoryPressure DiskPressure]" in told
