"""PodNodeSelector, PodTolerationRestriction and ExtendedResourceToleration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.admission import NAMESPACE, PODS, World, both_dialects, pod, refused

from fairlead.admission.configuration import FLAG
from fairlead.admission.plugins.default_toleration_seconds import default_tolerations
from fairlead.admission.plugins.pod_node_selector import PodNodeSelector
from fairlead.admission.plugins.pod_toleration_restriction import PodTolerationRestriction
from fairlead.admission.plugins.tolerations import ExtendedResourceToleration
from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.codec.configuration_files import ConfigurationError, Section

Object = dict[str, Any]
NAMESPACES = "core/v1/namespaces"


def _namespace(world: World, **annotations: str) -> None:
    domain = world.dialect.label_domain
    named = {f"scheduler.alpha.{domain}/{name}": text for name, text in annotations.items()}
    world.put(NAMESPACES, {"metadata": {"name": NAMESPACE, "annotations": named}})


def _section(value: Object) -> Section:
    return Section(value, Path("file.yaml"), FLAG)


def _selectors(world: World, settings: dict[str, str] | None = None) -> PodNodeSelector:
    section = None if settings is None else _section({"podNodeSelectorPluginConfig": settings})
    return PodNodeSelector(world.dialect, world.namespace, section)


def _select(world: World, text: str) -> None:
    _namespace(world, **{"node-selector": text})


@both_dialects
def test_pods_get_the_selector_of_their_namespace(dialect: Dialect) -> None:
    world = World(dialect)
    _select(world, "env=test, zone = west")
    value = world.create(_selectors(world), PODS, pod(nodeSelector={"disk": "ssd", "env": "test"}))
    assert value["spec"]["nodeSelector"] == {"env": "test", "zone": "west", "disk": "ssd"}


@both_dialects
def test_a_pod_that_contradicts_its_namespace_is_refused(dialect: Dialect) -> None:
    world = World(dialect)
    _select(world, "env=test")
    with refused(
        'pods "a" is forbidden: pod node label selector conflicts with its namespace node label'
        " selector"
    ):
        world.create(_selectors(world), PODS, pod(nodeSelector={"env": "production"}))


@pytest.mark.parametrize(("annotation", "result"), [(None, {"env": "any"}), ("", None)])
def test_the_default_selector_is_for_namespaces_without_one(
    annotation: str | None, result: Object | None
) -> None:
    world = World()
    plugin = _selectors(world, {"clusterDefaultNodeSelector": "env=any"})
    world.put(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    if annotation is not None:
        _select(world, annotation)
    assert world.create(plugin, PODS, pod())["spec"].get("nodeSelector") == result


def test_selectors_beyond_those_of_the_configuration_are_refused() -> None:
    world = World()
    plugin = _selectors(world, {NAMESPACE: "env=test,disk=ssd", "other": "env=x"})
    _select(world, "env=test")
    value = world.create(plugin, PODS, pod(nodeSelector={"disk": "ssd"}))
    assert value["spec"]["nodeSelector"] == {"env": "test", "disk": "ssd"}
    for more in ({"disk": "hdd"}, {"gpu": "yes"}):
        with refused(
            'pods "a" is forbidden: pod node label selector labels conflict with its namespace'
            " whitelist"
        ):
            world.create(plugin, PODS, pod(nodeSelector=more))


def test_a_changed_namespace_holds_for_the_next_pod() -> None:
    world = World()
    plugin = _selectors(world)
    for env in ("one", "two"):
        _select(world, f"env={env}")
        assert world.create(plugin, PODS, pod())["spec"]["nodeSelector"] == {"env": env}


def test_pods_that_exist_keep_their_selector() -> None:
    world = World()
    _select(world, "env=test")
    assert not world.update(_selectors(world), PODS, pod(), pod())["spec"].get("nodeSelector")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("env", "invalid selector: [env]"),
        ("a=b=c", "invalid selector: [a b c]"),
        ("a=b,", "invalid selector: []"),
        ("-=b", 'invalid label key "-": name part must consist of'),
        ("a=b c", 'invalid label value "b c": a valid label must be'),
    ],
)
def test_a_selector_that_cannot_be_read(text: str, why: str) -> None:
    world = World()
    _select(world, text)
    with pytest.raises(Exception, match="forbidden") as refusal:
        world.create(_selectors(world), PODS, pod())
    message = f'pods "a" is forbidden: the node selector of namespace "ns" cannot be read: {why}'
    assert str(refusal.value).startswith(message)
    with pytest.raises(ConfigurationError, match=r"file.yaml: podNodeSelectorPluginConfig\.x: inv"):
        _selectors(world, {"x": text})


def test_a_pod_without_a_namespace_is_not_placed() -> None:
    world = World()
    for plugin in (_selectors(world), _tolerations(world)):
        with refused('namespaces "ns" not found', 404):
            world.create(plugin, PODS, pod())


A = {"key": "a", "operator": "Exists", "effect": "NoSchedule"}
B = {"key": "b", "operator": "Equal", "value": "1", "effect": "NoSchedule"}
OTHER_B = {**B, "value": "2"}
NOT_ALLOWED = (
    'pods "a" is forbidden: pod tolerations (possibly merged with namespace default tolerations)'
    " conflict with its namespace whitelist"
)


def _tolerations(world: World, **settings: Any) -> PodTolerationRestriction:
    section = _section(settings) if settings else None
    types = world.resources.types
    return PodTolerationRestriction(world.dialect, world.namespace, types, section)


def _tolerate(world: World, **annotations: Any) -> None:
    _namespace(
        world,
        **{
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in annotations.items()
        },
    )


@both_dialects
def test_pods_get_the_tolerations_of_their_namespace(dialect: Dialect) -> None:
    world = World(dialect)
    _tolerate(world, defaultTolerations=[A, B])
    plugin = _tolerations(world)
    for given, result in (([], [A, B]), ([B], [B, A]), ([{"operator": "Exists"}], None)):
        value = world.create(plugin, PODS, pod(tolerations=given))
        assert value["spec"]["tolerations"] == (given if result is None else result)


@pytest.mark.parametrize(("annotation", "result"), [(None, [A]), ("", None), ("[]", None)])
def test_the_default_tolerations_are_for_namespaces_without(
    annotation: str | None, result: list[Object] | None
) -> None:
    world = World()
    _tolerate(world, **({} if annotation is None else {"defaultTolerations": annotation}))
    value = world.create(_tolerations(world, default=[A]), PODS, pod())
    assert value["spec"].get("tolerations") == result


def test_a_pod_that_contradicts_the_tolerations_of_its_namespace() -> None:
    cluster, kubernetes = World(CLUSTER), World(KUBERNETES)
    for world in (cluster, kubernetes):
        _tolerate(world, defaultTolerations=[B])
    with refused('pods "a" is forbidden: namespace tolerations and pod tolerations conflict'):
        cluster.create(_tolerations(cluster), PODS, pod(tolerations=[OTHER_B]))
    both = cluster.create(_tolerations(cluster), PODS, pod(tolerations=[OTHER_B, B]))
    assert both["spec"]["tolerations"] == [OTHER_B, B]
    kubernete = kubernetes.create(_tolerations(kubernetes), PODS, pod(tolerations=[OTHER_B]))
    assert kubernete["spec"]["tolerations"] == [OTHER_B, B]


def test_what_pods_tolerate_that_say_nothing_contradicts_nobody() -> None:
    world = World(CLUSTER)
    usual = {"key": "node.cluster.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    _tolerate(world, defaultTolerations=[usual])
    given = [{**usual, "tolerationSeconds": 300}]
    value = world.create(_tolerations(world), PODS, pod(tolerations=given))
    assert value["spec"]["tolerations"] == [usual]


@both_dialects
def test_pods_that_ask_for_something_tolerate_memory_pressure(dialect: Dialect) -> None:
    world = World(dialect)
    _tolerate(world)
    asking = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    pressure = {
        "key": f"node.{dialect.label_domain}/memory-pressure",
        "operator": "Exists",
        "effect": "NoSchedule",
    }
    plugin = _tolerations(world)
    for item in (
        world.create(plugin, PODS, pod(containers=asking)),
        world.update(plugin, PODS, pod(containers=asking), pod(containers=asking)),
    ):
        assert item["spec"]["tolerations"] == [pressure]


@both_dialects
def test_tolerations_must_be_among_those_that_the_namespace_allows(dialect: Dialect) -> None:
    world = World(dialect)
    _tolerate(world, tolerationsWhitelist=[A, B], defaultTolerations=[A])
    plugin = _tolerations(world, whitelist=[OTHER_B])
    world.create(plugin, PODS, pod(tolerations=[B]))
    world.update(plugin, PODS, pod(), pod(tolerations=[B]))
    for item in ([OTHER_B], [{"operator": "Exists"}], [{**A, "effect": "NoExecute"}]):
        with refused(NOT_ALLOWED):
            world.create(plugin, PODS, pod(tolerations=item))
        with refused(NOT_ALLOWED):
            world.update(plugin, PODS, pod(), pod(tolerations=item))


def test_what_the_server_lets_pods_tolerate_needs_no_permission() -> None:
    cluster, kubernetes = World(CLUSTER), World(KUBERNETES)
    asking = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    for world in (cluster, kubernetes):
        _tolerate(world, tolerationsWhitelist=[A], defaultTolerations=[A])
    usual = default_tolerations(CLUSTER)
    value = cluster.create(_tolerations(cluster), PODS, pod(containers=asking, tolerations=usual))
    keys = [toleration["key"] for toleration in value["spec"]["tolerations"]]
    domain = "node.cluster.io"
    assert keys == [
        f"{domain}/not-ready",
        f"{domain}/unreachable",
        "a",
        f"{domain}/memory-pressure",
    ]
    with refused(NOT_ALLOWED):
        longer = [{**item, "tolerationSeconds": 301} for item in usual]
        cluster.create(_tolerations(cluster), PODS, pod(tolerations=longer))
    with refused(NOT_ALLOWED):
        items = default_tolerations(KUBERNETES)
        kubernetes.create(_tolerations(kubernetes), PODS, pod(tolerations=items))


def test_the_merged_tolerations_are_what_is_judged() -> None:
    world = World()
    _tolerate(world, tolerationsWhitelist=[B], defaultTolerations=[A])
    with refused(NOT_ALLOWED):
        world.create(_tolerations(world), PODS, pod(tolerations=[B]))


@pytest.mark.parametrize(("annotation", "allowed"), [(None, False), ("", True)])
def test_the_allowed_tolerations_of_the_configuration_are_for_namespaces_without(
    annotation: str | None, allowed: bool
) -> None:
    world = World()
    _tolerate(world, **({} if annotation is None else {"tolerationsWhitelist": annotation}))
    plugin = _tolerations(world, whitelist=[A])
    if allowed:
        world.create(plugin, PODS, pod(tolerations=[B]))
    else:
        with refused(NOT_ALLOWED):
            world.create(plugin, PODS, pod(tolerations=[B]))


@pytest.mark.parametrize("text", ["{", "{}", "[1]", '[{"key": 1}]', "[" * 2000])
@pytest.mark.parametrize("name", ["defaultTolerations", "tolerationsWhitelist"])
def test_tolerations_that_cannot_be_read(name: str, text: str) -> None:
    world = World()
    _tolerate(world, **{name: text})
    with pytest.raises(Exception, match="forbidden") as refusal:
        world.create(_tolerations(world), PODS, pod(tolerations=[A]))
    message = (
        f'pods "a" is forbidden: namespace "ns": annotation scheduler.alpha.kubernetes.io/{name}'
    )
    assert str(refusal.value).startswith(message)


def test_tolerations_of_the_configuration_are_checked() -> None:
    with pytest.raises(ConfigurationError, match=r"file\.yaml: whitelist\[0\]\.operator: Unsupp"):
        _tolerations(World(), whitelist=[{"key": "a", "operator": "Maybe"}])


def _asking(*names: str) -> Object:
    resources = {"requests": dict.fromkeys(names, "1"), "limits": dict.fromkeys(names, "1")}
    return {"name": "c", "image": "i", "resources": resources}


def _kept_for(name: str) -> Object:
    return {"key": name, "operator": "Exists", "effect": "NoSchedule"}


@both_dialects
def test_pods_may_go_where_what_they_ask_for_is(dialect: Dialect) -> None:
    world, plugin = World(dialect), ExtendedResourceToleration(dialect)
    native = f"{dialect.label_domain}/device"
    asking = pod(
        containers=[_asking("cpu", "x.io/b", native), _asking("x.io/a")],
        initContainers=[_asking("x.io/c", "x.io/a")],
        tolerations=[B],
    )
    wanted = [B, *map(_kept_for, ("x.io/a", "x.io/b", "x.io/c"))]
    for item in (
        world.create(plugin, PODS, asking),
        world.update(plugin, PODS, asking, asking),
    ):
        assert item["spec"]["tolerations"] == wanted


def test_a_toleration_that_is_there_is_not_added_again() -> None:
    world, plugin = World(), ExtendedResourceToleration(KUBERNETES)
    given = [_kept_for("x.io/a"), B]
    value = world.create(plugin, PODS, pod(containers=[_asking("x.io/a")], tolerations=given))
    assert value["spec"]["tolerations"] == given
    assert not world.create(plugin, PODS, pod())["spec"].get("tolerations")
