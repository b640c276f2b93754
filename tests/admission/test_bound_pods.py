"""Plugins of release 1.36 that look at the node of a pod."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from support.admission import PODS, World, pod, refused

from fairlead.admission.plugins.bound_pods import (
    NODES,
    NodeDeclaredFeatureValidator,
    PodResizeValidator,
    PodTopologyLabels,
)
from fairlead.base.release import V1_36

Object = dict[str, Any]
RESIZE, BINDING = f"{PODS}/resize", f"{PODS}/binding"
REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
PLACE = {REGION: "r", ZONE: "z"}


def node(world: World, name: str = "n", *, labels: Object | None = None, **status: Any) -> None:
    world.put(NODES, {"metadata": {"name": name, "labels": labels or {}}, "status": status})


def container(cpu: str, name: str = "c", **fields: Any) -> Object:
    return {"name": name, "image": "i", "resources": {"requests": {"cpu": cpu}}, **fields}


def resized(old: Object, **spec: Any) -> Object:
    """The pod with changes, as the next generation."""
    new = deepcopy(old)
    new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    new["spec"].update(spec)
    return new


@pytest.mark.parametrize(
    ("key", "value", "labels"),
    [
        (PODS, pod(nodeName="n"), PLACE),
        (
            PODS,
            {**pod(nodeName="n"), "metadata": {"labels": {ZONE: "x", "a": "b"}}},
            {"a": "b", **PLACE},
        ),
        (PODS, pod(nodeName="gone"), None),
        (PODS, pod(), None),
        (BINDING, {"metadata": {}, "target": {"kind": "Node", "name": "n"}}, PLACE),
        (BINDING, {"metadata": {}, "target": {"kind": "Pod", "name": "n"}}, None),
    ],
)
def test_pods_get_the_place_of_their_node(key: str, value: Object, labels: Object | None) -> None:
    world = World(release=V1_36)
    node(world, labels={**PLACE, "kubernetes.io/hostname": "h"})
    created = world.create(PodTopologyLabels(world.dialect, world.find), key, value)
    assert created["metadata"].get("labels") == labels


def test_no_place_without_the_gate() -> None:
    world = World(release=V1_36, PodTopologyLabelsAdmission=False)
    node(world, labels=PLACE)
    plugin = PodTopologyLabels(world.dialect, world.find)
    assert "labels" not in world.create(plugin, PODS, pod(nodeName="n"))["metadata"]


INIT, WHOLE = "InPlacePodVerticalScalingInitContainers", "InPlacePodLevelResourcesVerticalScaling"
OLD = pod(
    nodeName="n",
    containers=[container("1")],
    initContainers=[container("1", "i"), container("1", "s", restartPolicy="Always")],
)


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({"containers": [container("2")]}, ""),
        (
            {
                "initContainers": [
                    OLD["spec"]["initContainers"][0],
                    container("2", "s", restartPolicy="Always"),
                ]
            },
            "",
        ),
        ({"initContainers": [container("2", "i")]}, INIT),
        ({"resources": {"requests": {"cpu": "5"}}}, WHOLE),
        (
            {"initContainers": [container("2", "i")], "resources": {"requests": {"cpu": "5"}}},
            f"{WHOLE}, {INIT}",
        ),
    ],
)
def test_a_node_must_declare_the_features_of_a_resize(changes: Object, needed: str) -> None:
    world = World(release=V1_36)
    plugin = NodeDeclaredFeatureValidator(world.find)
    node(world)
    new = resized(OLD, **changes)
    if needed:
        text = f'pod update requires features {needed} which are not available on node "n"'
        with refused(f'pods "a" is forbidden: {text}'):
            world.update(plugin, RESIZE, OLD, new)
        world.update(plugin, RESIZE, {**OLD, "metadata": {"generation": 1}}, new)  # nothing changed
        node(world, declaredFeatures=needed.split(", "))
    world.update(plugin, RESIZE, OLD, new)
    if needed:
        world.remove(NODES, "n")
        with refused('pods "a" is forbidden: node "n" not found'):
            world.update(plugin, RESIZE, OLD, new)


CPU = "cpu, requested: {}, allocatable: 4000"


@pytest.mark.parametrize(
    ("changes", "exceeded"),
    [
        ({"containers": [container("3")]}, ""),
        ({"containers": [container("3001m")]}, CPU.format(4001)),
        ({"initContainers": [container("4", "i")]}, ""),
        (
            {"initContainers": [container("1", "s", restartPolicy="Always"), container("4", "i")]},
            CPU.format(5000),
        ),
        ({"resources": {"requests": {"cpu": "4"}}, "containers": [container("9")]}, ""),
        ({"overhead": {"cpu": "3"}}, CPU.format(5000)),
        (
            {"resources": {"requests": {"cpu": "5", "memory": "3"}}},
            f"{CPU.format(5000)}; memory, requested: 3, allocatable: 2",
        ),
    ],
)
def test_a_resize_must_fit_on_the_node(changes: Object, exceeded: str) -> None:
    world = World(release=V1_36)
    plugin = PodResizeValidator(world.dialect, world.find)
    node(world, allocatable={"cpu": "4", "memory": "2"})
    new = resized(OLD, **changes)
    if not exceeded:
        world.update(plugin, RESIZE, OLD, new)
        return
    text = f"node didn't have enough allocatable resources: {exceeded}"
    with refused(f'pods "a" is forbidden: {text}'):
        world.update(plugin, RESIZE, OLD, new)


def test_only_nodes_with_linux_resize_pods() -> None:
    world = World(release=V1_36)
    plugin = PodResizeValidator(world.dialect, world.find)
    node(world, labels={"kubernetes.io/os": "windows"})
    text = 'pod resize is only supported on linux nodes, node "n" is "windows"'
    with refused(f'pods "a" is forbidden: {text}'):
        world.update(plugin, RESIZE, OLD, resized(OLD))
    world.remove(NODES, "n")
    with refused('pods "a" is forbidden: node "n" not found'):
        world.update(plugin, RESIZE, OLD, resized(OLD))
