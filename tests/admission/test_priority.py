"""Priority: pods get the priority of their class."""

from __future__ import annotations

from typing import Any

import pytest
from support.admission import PODS, World, pod, refused

from fairlead.admission.plugins.priority import CLASSES, Priority

Resolved = tuple[str | None, int, str]


def _world(*classes: tuple[str, int, dict[str, Any]]) -> tuple[World, Priority]:
    world = World()
    for name, value, more in classes:
        world.put(CLASSES, {"metadata": {"name": name}, "value": value, **more})
    return world, Priority(world.find, world.collection)


def _resolved(spec: dict[str, Any]) -> Resolved:
    return spec.get("priorityClassName"), spec["priority"], spec["preemptionPolicy"]


HIGH: tuple[str, int, dict[str, Any]] = ("high", 1000, {})
NEVER = ("never", 7, {"preemptionPolicy": "Never"})
DEFAULT = ("usual", 3, {"globalDefault": True})
LOWER = "PreemptLowerPriority"


@pytest.mark.parametrize(
    ("classes", "spec", "resolved"),
    [
        ([], {}, (None, 0, LOWER)),
        ([], {"priority": 0}, (None, 0, LOWER)),
        ([HIGH], {"priorityClassName": "high"}, ("high", 1000, LOWER)),
        ([HIGH], {"priorityClassName": "high", "priority": 1000}, ("high", 1000, LOWER)),
        ([NEVER], {"priorityClassName": "never"}, ("never", 7, "Never")),
        ([DEFAULT], {}, ("usual", 3, LOWER)),
        ([DEFAULT, HIGH], {"priorityClassName": "high"}, ("high", 1000, LOWER)),
        ([DEFAULT, ("b", 2, {"globalDefault": True})], {}, ("b", 2, LOWER)),
    ],
)
def test_priority_is_resolved(classes: Any, spec: dict[str, Any], resolved: Resolved) -> None:
    world, plugin = _world(*classes)
    assert _resolved(world.create(plugin, PODS, pod(**spec))["spec"]) == resolved


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "x"}, "no PriorityClass with name x was found"),
        (
            {"priorityClassName": "high", "priority": 5},
            "the integer value of priority (5) must not be provided in pod spec; priority"
            " admission controller computed 1000 from the given PriorityClass name",
        ),
        (
            {"priority": 5},
            "the integer value of priority (5) must not be provided in pod spec; priority"
            " admission controller computed 0 from the given PriorityClass name",
        ),
        (
            {"priorityClassName": "never", "preemptionPolicy": LOWER},
            "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in"
            " pod spec; priority admission controller computed Never from the given PriorityClass"
            " name",
        ),
    ],
)
def test_other_priorities_are_refused(spec: dict[str, Any], why: str) -> None:
    world, plugin = _world(HIGH, NEVER)
    with refused(f'pods "a" is forbidden: {why}'):
        world.create(plugin, PODS, pod(**spec))


def test_the_default_follows_the_classes() -> None:
    world, plugin = _world()
    assert world.create(plugin, PODS, pod())["spec"]["priority"] == 0
    world.put(CLASSES, {"metadata": {"name": "usual"}, "value": 3, "globalDefault": True})
    assert world.create(plugin, PODS, pod())["spec"]["priority"] == 3
    world.remove(CLASSES, "usual")
    assert world.create(plugin, PODS, pod())["spec"]["priority"] == 0


def test_an_update_keeps_what_it_does_not_say() -> None:
    world, plugin = _world()
    old = pod(priority=9, preemptionPolicy="Never")
    assert _resolved(world.update(plugin, PODS, old, pod())["spec"]) == (None, 9, "Never")


ONLY_ONE = (
    'priorityclasses.scheduling.k8s.io "new" is forbidden: PriorityClass usual is already marked as'
    " default. Only one default can exist"
)
NEW: dict[str, Any] = {"metadata": {"name": "new"}, "value": 4}


def test_only_one_class_is_the_default() -> None:
    world, plugin = _world(DEFAULT)
    with refused(ONLY_ONE):
        world.create(plugin, CLASSES, {**NEW, "globalDefault": True})
    with refused(ONLY_ONE):
        world.update(plugin, CLASSES, NEW, {**NEW, "globalDefault": True})
    world.create(plugin, CLASSES, NEW)
    same = {"metadata": {"name": "usual"}, "value": 3, "globalDefault": True}
    world.update(plugin, CLASSES, same, {**same, "description": "d"})
