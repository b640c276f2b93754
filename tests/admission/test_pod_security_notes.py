"""PodSecurity: audit annotations, and the limit on pods checked in a namespace."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from support.admission import PODS, USER, World, both_dialects, pod, run_step

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.admission.plugins.pod_security import existing_pods
from fairlead.admission.plugins.pod_security.levels import RESTRICTED, Policy, Standard
from fairlead.admission.plugins.pod_security.plugin import PodSecurity
from fairlead.admission.plugins.pod_security.settings import Settings
from fairlead.base.dialect import KUBERNETES, Dialect
from fairlead.base.errors import StatusError
from fairlead.resources.core.pods.annotations import keys

NAMESPACES, DEPLOYMENTS = "core/v1/namespaces", "apps/v1/deployments"
NON_ROOT = 'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)'
OLD = Policy(audit=Standard(RESTRICTED, 7))


def _plugin(world: World, **settings: Any) -> PodSecurity:
    return PodSecurity(world.dialect, world.namespace, world.collection, Settings(**settings))


def _notes(world: World, plugin: PodSecurity, key: str, value: Any) -> dict[str, str]:
    """Return the audit annotations of a new object, without their prefix."""
    context = world.context()
    resource = world.resources.named(key)
    content = world.decode(key, value)
    attributes = Attributes(CREATE, resource, "ns", "a", content, None, USER, context)
    with suppress(StatusError):
        run_step(plugin.validate, attributes)
    prefix = world.dialect.label("pod-security.@/")
    assert all(name.startswith(prefix) for name in context.annotations)
    return {name.removeprefix(prefix): text for name, text in context.annotations.items()}


def _namespace(world: World, **modes: str) -> None:
    prefix = world.dialect.label("pod-security.@/")
    labels = {prefix + mode: level for mode, level in modes.items()}
    world.put(NAMESPACES, {"metadata": {"name": "ns", "labels": labels}})


@both_dialects
def test_pods_are_noted_with_the_policy_that_they_keep_to(dialect: Dialect) -> None:
    world = World(dialect)
    _namespace(world)
    plugin = _plugin(world)
    assert _notes(world, plugin, PODS, pod()) == {"enforce-policy": "privileged:latest"}
    _namespace(world, enforce="baseline")
    assert _notes(world, plugin, PODS, pod()) == {"enforce-policy": "baseline:latest"}


def test_violations_are_noted_for_pods_and_templates() -> None:
    world = World()
    _namespace(world)
    plugin = _plugin(world, defaults=OLD)
    message = f'would violate PodSecurity "restricted:v1.7": {NON_ROOT}'
    assert _notes(world, plugin, PODS, pod()) == {
        "enforce-policy": "privileged:latest",
        "audit-violations": message,
    }
    template = {"spec": {"selector": {}, "template": {"metadata": {}, **pod()}}}
    assert _notes(world, plugin, DEPLOYMENTS, template) == {"audit-violations": message}


def test_violations_of_a_refused_pod_are_noted_too() -> None:
    world = World()
    _namespace(world)
    plugin = _plugin(world, defaults=OLD._replace(enforce=Standard(RESTRICTED, 7)))
    assert _notes(world, plugin, PODS, pod()) == {
        "enforce-policy": "restricted:v1.7",
        "audit-violations": f'would violate PodSecurity "restricted:v1.7": {NON_ROOT}',
    }


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"namespaces": frozenset({"ns"})}, "namespace"),
        ({"usernames": frozenset({USER.name})}, "user"),
        ({"runtime_classes": frozenset({"vm"})}, "runtimeClass"),
    ],
)
def test_exemptions_are_noted(settings: Any, why: str) -> None:
    world = World()
    _namespace(world, enforce="restricted")
    value = pod(runtimeClassName="vm")
    assert _notes(world, _plugin(world, **settings), PODS, value) == {"exempt": why}


def test_labels_from_before_that_are_wrong_enforce_the_highest_level() -> None:
    world = World()
    _namespace(world, enforce="x", audit="y")
    notes = _notes(world, _plugin(world), PODS, pod())
    prefix = "metadata.labels[pod-security.kubernetes.io/"
    why = "must be one of privileged, baseline, restricted"
    assert notes == {
        "enforce-policy": "restricted:latest",
        "error": f'Failed to parse policy: [{prefix}enforce]: Invalid value: "x": {why},'
        f' {prefix}audit]: Invalid value: "y": {why}]',
    }


def _warnings(world: World, exempt: frozenset[str] = frozenset()) -> list[str]:
    entries = world.collection(PODS).current("ns")
    texts = existing_pods.warnings_about(
        "ns", entries, Standard(RESTRICTED, 7), exempt, keys(KUBERNETES)
    )
    return asyncio.run(texts)


def _running(world: World, name: str, owner: str = "", **spec: Any) -> None:
    value = pod(**spec)
    value["metadata"]["name"] = name
    if owner:
        reference = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": owner, "controller": True}
        value["metadata"]["ownerReferences"] = [reference]
    world.put(PODS, value)


HEAD = 'existing pods in namespace "ns" violate the new PodSecurity enforce level "restricted:v1.7"'


def test_one_pod_of_each_controller_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    for name in ("a", "b", "c"):
        _running(world, name, owner="1")
    _running(world, "d", owner="2", hostNetwork=True)
    _running(world, "e")
    assert _warnings(world)[1:] == [
        "a (and 3 other pods): runAsNonRoot != true",
        "d: host namespaces, runAsNonRoot != true",
    ]
    monkeypatch.setattr(existing_pods, "MAX_PODS", 3)
    assert _warnings(world) == [
        "new PodSecurity enforce level only checked against the first 3 of 5 existing pods",
        HEAD,
        "a (and 1 other pod): runAsNonRoot != true",
        "d: host namespaces, runAsNonRoot != true",
    ]


def test_checking_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(existing_pods, "MAX_SECONDS", 0.0)
    world = World()
    for name in ("a", "b"):
        _running(world, name)
    assert _warnings(world) == [
        "new PodSecurity enforce level only checked against the first 1 of 2 existing pods",
        HEAD,
        "a: runAsNonRoot != true",
    ]


def test_pods_of_exempt_runtime_classes_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    _running(world, "a", runtimeClassName="vm")
    assert _warnings(world, frozenset({"vm"})) == []


def test_wrong_labels_may_stay_as_they_are() -> None:
    world, wrong = World(), {"pod-security.kubernetes.io/enforce": "x"}
    plugin = _plugin(world)
    old = {"metadata": {"name": "ns", "labels": wrong}}
    world.update(
        plugin, NAMESPACES, old, {"metadata": {"name": "ns", "labels": {**wrong, "a": "b"}}}
    )
    world.update(plugin, NAMESPACES, old, {"metadata": {"name": "ns"}})
    changed = {"pod-security.kubernetes.io/enforce": "y"}
    with pytest.raises(StatusError):
        world.update(plugin, NAMESPACES, old, {"metadata": {"name": "ns", "labels": changed}})
