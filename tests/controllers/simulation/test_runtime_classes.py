"""Pods of runtime classes on simulated nodes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.simulation import PREFIX, Pods, behaviour, container
from support.waiting import eventually

HANDLERS = f"{PREFIX}runtime-handlers"


def annotate(pods: Pods, handlers: str | None) -> None:
    for name in pods.nodes.names():
        pods.nodes.patch(name, {"metadata": {"annotations": {HANDLERS: handlers}}})


@pytest.fixture(params=["pods", "pods_1_36"])
def classed(request: pytest.FixtureRequest) -> Iterator[Pods]:
    """Pods on a server with the runtime classes `mine` and `other`."""
    pods: Pods = request.getfixturevalue(request.param)
    classes = pods.space.everywhere("runtimeclasses", "node.k8s.io")
    for name in ("mine", "other"):
        classes.create(name, handler=f"{name}-handler")
    yield pods
    annotate(pods, None)
    for name in ("mine", "other"):
        classes.remove(name)


def test_every_handler_works_unless_a_node_says_which_it_has(classed: Pods) -> None:
    classed.create("p", runtimeClassName="mine")
    classed.await_ready()
    annotate(classed, "other-handler,runc")
    classed.create("q", runtimeClassName="mine")
    classed.create("r", runtimeClassName="other")
    classed.create("s")
    classed.await_ready("r", "s", "p")
    text = 'no runtime for "mine-handler" is configured'
    event = classed.await_event("FailedCreatePodSandBox", "q", text)
    assert event["message"].startswith("Failed to create pod sandbox: rpc error: code = Unknown")
    status = classed.status("q")
    assert (status["phase"], "podIP" in status) == ("Pending", False)
    assert classed.state("q") == {"waiting": {"reason": "ContainerCreating"}}
    annotate(classed, "mine-handler")
    classed.await_ready("q")


def test_the_sandbox_comes_before_the_image(classed: Pods) -> None:
    annotate(classed, "")
    failing = behaviour(image_pull_failure="no such thing")
    first = container("first", command=["true"])
    classed.create("p", annotations=failing, runtimeClassName="mine", initContainers=[first])
    classed.await_event("FailedCreatePodSandBox")
    assert not [event for event in classed.events() if event["reason"] == "Pulling"]


def test_a_node_reports_its_handlers(pods_1_36: Pods) -> None:
    pods = pods_1_36
    [name, *_] = pods.nodes.names()
    assert "runtimeHandlers" not in pods.nodes.read(name)["status"]
    annotate(pods, "runc,gvisor")
    expected = [{"name": ""}, {"name": "runc"}, {"name": "gvisor"}]

    def reported() -> bool:
        return bool(pods.nodes.read(name)["status"].get("runtimeHandlers") == expected)

    eventually(reported, "the handlers are reported")
    annotate(pods, None)
    eventually(
        lambda: "runtimeHandlers" not in pods.nodes.read(name)["status"], "they are not any more"
    )


def test_a_pod_whose_class_is_gone_does_not_start(pods_1_36: Pods) -> None:
    pods = pods_1_36
    classes = pods.space.everywhere("runtimeclasses", "node.k8s.io")
    classes.create("brief", handler="runc")
    pods.create("p", runtimeClassName="brief", schedulingGates=[{"name": "example.com/wait"}])
    classes.remove("brief")
    assert pods.collection.patch("p", {"spec": {"schedulingGates": None}}).status == 200
    pods.await_event("FailedCreatePodSandBox", text='runtimeclass.node.k8s.io "brief" not found')
    assert pods.status()["phase"] == "Pending"
