"""The plugins that need only the pod, and RuntimeClass."""

from __future__ import annotations

import random
from time import process_time
from typing import Any

import pytest
from support.admission import PODS, World, both_dialects, pod, refused
from support.pace import in_time

from fairlead.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from fairlead.admission.plugins.optional import (
    AlwaysPullImages,
    LimitPodHardAntiAffinityTopology,
    SecurityContextDeny,
)
from fairlead.admission.plugins.runtime_class import CLASSES, RuntimeClass
from fairlead.admission.plugins.tolerations import TolerationSet, merged
from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


def _default(key: str) -> dict[str, Any]:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([], [NOT_READY, UNREACHABLE]),
        ([{"key": "t", "operator": "Exists"}], [NOT_READY, UNREACHABLE]),
        ([{"key": NOT_READY, "operator": "Exists", "effect": "NoExecute"}], [UNREACHABLE]),
        ([{"key": UNREACHABLE, "operator": "Exists"}], [NOT_READY]),
        (
            [{"key": NOT_READY, "operator": "Exists", "effect": "NoSchedule"}],
            [NOT_READY, UNREACHABLE],
        ),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoExecute"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
    ],
)
def test_default_tolerations(given: list[Any], added: list[str]) -> None:
    world, plugin = World(), DefaultTolerationSeconds(KUBERNETES)
    wanted = [*given, *map(_default, added)]
    for item in (
        world.create(plugin, PODS, pod(tolerations=given)),
        world.update(plugin, PODS, pod(), pod(tolerations=given)),
    ):
        assert item["spec"]["tolerations"] == wanted


@both_dialects
def test_default_tolerations_in_words_of_the_dialect(dialect: Dialect) -> None:
    value = World(dialect).create(DefaultTolerationSeconds(dialect), PODS, pod())
    keys = [toleration["key"] for toleration in value["spec"]["tolerations"]]
    assert keys == [f"node.{dialect.label_domain}/{end}" for end in ("not-ready", "unreachable")]


EXISTS = {"key": "t", "operator": "Exists"}
EQUAL = {"key": "t", "operator": "Equal", "value": "v"}


@pytest.mark.parametrize(
    ("wide", "narrow", "result"),
    [
        (EXISTS, EXISTS, True),
        (EXISTS, EQUAL, True),
        (EQUAL, EXISTS, False),
        (EQUAL, {**EQUAL, "value": "w"}, False),
        (EQUAL, {**EQUAL, "effect": "NoSchedule"}, True),
        ({**EQUAL, "effect": "NoSchedule"}, EQUAL, False),
        ({"operator": "Exists"}, EQUAL, True),
        (EXISTS, {"key": "u", "operator": "Exists"}, False),
        (_default("t"), {**_default("t"), "tolerationSeconds": 10}, True),
        (_default("t"), {**_default("t"), "tolerationSeconds": 301}, False),
        (_default("t"), {"key": "t", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "t", "operator": "Exists", "effect": "NoExecute"}, _default("t"), True),
    ],
)
def test_covering_tolerations(wide: Any, narrow: Any, result: bool) -> None:
    assert TolerationSet([wide]).covers(narrow) is result


def test_merged_tolerations_drop_what_is_covered() -> None:
    assert merged([EQUAL], [EXISTS]) == [EXISTS]
    assert merged([EXISTS], [EQUAL]) == [EXISTS]
    assert merged([EXISTS], [EXISTS]) == [EXISTS]
    assert merged([EQUAL], [{**EQUAL, "value": "w"}]) == [EQUAL, {**EQUAL, "value": "w"}]


def _merged_one_by_one(every: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for index, item in enumerate(every):
        later = [other for other in every[index + 1 :] if other != item]
        if not any(TolerationSet([other]).covers(item) for other in kept + later):
            kept.append(item)
    return kept


def _random_toleration(chance: random.Random) -> dict[str, Any]:
    value: dict[str, Any] = {"key": chance.choice("ab"), "operator": "Exists"}
    if chance.random() < 0.1:
        del value["key"]
    elif chance.random() < 0.6:
        value |= {"operator": "Equal", "value": chance.choice("vw")}
    effect = chance.choice(["", "NoSchedule", "NoExecute"])
    if effect:
        value["effect"] = effect
    if effect == "NoExecute" and chance.random() < 0.7:
        value["tolerationSeconds"] = chance.choice([-1, 0, 5, 9])
    return value


@pytest.mark.parametrize("seed", range(200))
def test_merging_is_the_same_as_comparing_each_with_all_others(seed: int) -> None:
    chance = random.Random(seed)
    first, second = (
        [_random_toleration(chance) for _ in range(chance.randrange(5))] for _ in range(2)
    )
    assert merged(first, second) == _merged_one_by_one(first + second)


@pytest.mark.parametrize("name", ["value", "key", "tolerationSeconds"])
def test_many_tolerations_are_merged_in_proportion(name: str) -> None:
    many = [{**EQUAL, "effect": "NoExecute", name: index} for index in range(20_000)]
    before = process_time()
    merged(many, [EXISTS | {"key": "other"}])
    assert in_time(process_time() - before, 1.0)


def _runtimes(dialect: Dialect = KUBERNETES) -> tuple[World, RuntimeClass]:
    world = World(dialect)
    world.put(
        CLASSES,
        {
            "metadata": {"name": "full"},
            "handler": "h",
            "overhead": {"podFixed": {"cpu": "250m"}},
            "scheduling": {"nodeSelector": {"kind": "x"}, "tolerations": [EXISTS]},
        },
    )
    world.put(CLASSES, {"metadata": {"name": "plain"}, "handler": "h"})
    return world, RuntimeClass(world.find)


FULL = {"overhead": {"cpu": "250m"}, "nodeSelector": {"kind": "x"}, "tolerations": [EXISTS]}


@pytest.mark.parametrize(
    ("spec", "result"),
    [
        ({}, {}),
        ({"runtimeClassName": "plain"}, {}),
        ({"runtimeClassName": "full"}, FULL),
        ({"runtimeClassName": "full", "overhead": {"cpu": "0.25"}}, FULL),
        (
            {"runtimeClassName": "full", "nodeSelector": {"kind": "x", "z": "1"}},
            {**FULL, "nodeSelector": {"kind": "x", "z": "1"}},
        ),
        (
            {"runtimeClassName": "full", "tolerations": [_default("n")]},
            {**FULL, "tolerations": [_default("n"), EXISTS]},
        ),
    ],
)
def test_runtime_class(spec: dict[str, Any], result: dict[str, Any]) -> None:
    world, plugin = _runtimes()
    created = world.create(plugin, PODS, pod(**spec))["spec"]
    assert {name: created[name] for name in FULL if created.get(name)} == result


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"runtimeClassName": "no"}, 'pod rejected: RuntimeClass "no" not found'),
        (
            {"runtimeClassName": "full", "overhead": {"cpu": "1"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            {"runtimeClassName": "plain", "overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            {"overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            {"runtimeClassName": "full", "nodeSelector": {"kind": "y"}},
            "conflict: runtimeClass.scheduling.nodeSelector[kind] = x; pod.spec.nodeSelector[kind]"
            " = y",
        ),
    ],
)
def test_runtime_class_refusals(spec: dict[str, Any], why: str) -> None:
    world, plugin = _runtimes()
    with refused(f'pods "a" is forbidden: {why}'):
        world.create(plugin, PODS, pod(**spec))


def test_an_overhead_that_is_given_is_refused_even_if_it_is_right() -> None:
    world, plugin = _runtimes(CLUSTER)
    why = "pod rejected: Pod's Overhead is set by its RuntimeClass and must not be given"
    with refused(f'pods "a" is forbidden: {why}'):
        world.create(plugin, PODS, pod(runtimeClassName="full", overhead={"cpu": "250m"}))
    assert world.create(plugin, PODS, pod(runtimeClassName="full"))["spec"]["overhead"]


def test_runtime_class_does_not_share_its_lists() -> None:
    world, plugin = _runtimes()
    first = world.create(plugin, PODS, pod(runtimeClassName="full"))["spec"]
    first["overhead"]["cpu"] = "9"
    first["tolerations"][0]["key"] = "changed"
    first["nodeSelector"]["kind"] = "changed"
    second = world.create(plugin, PODS, pod(runtimeClassName="full"))["spec"]
    assert {name: second[name] for name in FULL} == FULL


def _with_policy(image: str, policy: str) -> dict[str, Any]:
    return pod(containers=[{"name": "c", "image": image, "imagePullPolicy": policy}])


def test_images_are_always_pulled() -> None:
    world, plugin = World(), AlwaysPullImages()
    value = _with_policy("i:1", "Never")
    value["spec"]["initContainers"] = [{"name": "i", "image": "i:1"}]
    spec = world.create(plugin, PODS, value)["spec"]
    assert spec["containers"][0]["imagePullPolicy"] == "Always"
    assert spec["initContainers"][0]["imagePullPolicy"] == "Always"


@pytest.mark.parametrize(("image", "policy"), [("i:1", "Never"), ("i:2", "Always")])
def test_updates_pull_new_images_only(image: str, policy: str) -> None:
    world, plugin = World(), AlwaysPullImages()
    value = world.update(plugin, PODS, _with_policy("i:1", "Never"), _with_policy(image, "Never"))
    assert value["spec"]["containers"][0]["imagePullPolicy"] == policy


def _apart(key: str) -> dict[str, Any]:
    terms = [{"topologyKey": key, "labelSelector": {}}]
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return pod(affinity={"podAntiAffinity": rule})


def test_anti_affinity_topology() -> None:
    world, plugin = World(), LimitPodHardAntiAffinityTopology(KUBERNETES)
    world.create(plugin, PODS, pod())
    world.create(plugin, PODS, _apart("kubernetes.io/hostname"))
    with refused(
        'pods "a" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey'
        " zone but only key kubernetes.io/hostname is allowed"
    ):
        world.create(plugin, PODS, _apart("zone"))


def test_a_host_is_known_by_both_names_in_the_dialect_of_the_specification() -> None:
    world, plugin = World(CLUSTER), LimitPodHardAntiAffinityTopology(CLUSTER)
    for key in ("cluster.io/hostname", "kubernetes.io/hostname"):
        world.create(plugin, PODS, _apart(key))


def _contained(**context: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", "securityContext": context}]}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (
            {"securityContext": {"supplementalGroups": [1]}},
            "pod.Spec.SecurityContext.SupplementalGroups",
        ),
        ({"securityContext": {"runAsUser": 0}}, "pod.Spec.SecurityContext.RunAsUser"),
        ({"securityContext": {"fsGroup": 1}}, "pod.Spec.SecurityContext.FSGroup"),
        (
            {"securityContext": {"seLinuxOptions": {"user": "u"}}},
            "pod.Spec.SecurityContext.SELinuxOptions",
        ),
        (_contained(runAsUser=1), "SecurityContext.RunAsUser"),
        (_contained(seLinuxOptions={"user": "u"}), "SecurityContext.SELinuxOptions"),
    ],
)
def test_security_contexts_are_denied(spec: dict[str, Any], field: str) -> None:
    with refused(f'pods "a" is forbidden: {field} is forbidden'):
        World().create(SecurityContextDeny(), PODS, pod(**spec))


def test_harmless_security_contexts_are_admitted() -> None:
    World().create(SecurityContextDeny(), PODS, pod(**_contained(runAsNonRoot=True)))
