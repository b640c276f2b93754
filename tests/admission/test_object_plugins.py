"""The plugins for nodes, storage, ingresses, services and namespaces."""

from __future__ import annotations

from typing import Any

import pytest
from support.admission import World, both_dialects, refused

from fairlead.admission.plugin import Plugin
from fairlead.admission.plugins.default_classes import DefaultIngressClass, DefaultStorageClass
from fairlead.admission.plugins.namespaces import NamespaceAutoProvision, NamespaceExists
from fairlead.admission.plugins.optional import AlwaysAdmit, AlwaysDeny, DenyServiceExternalIPs
from fairlead.admission.plugins.persistent_volumes import (
    PersistentVolumeClaimResize,
    StorageObjectInUseProtection,
)
from fairlead.admission.plugins.tolerations import TaintNodesByCondition
from fairlead.base.dialect import KUBERNETES, Dialect

NODES, CONFIG_MAPS, SERVICES = "core/v1/nodes", "core/v1/configmaps", "core/v1/services"
CLAIMS, VOLUMES = "core/v1/persistentvolumeclaims", "core/v1/persistentvolumes"
STORAGE_CLASSES, INGRESS_CLASSES = "storage/v1/storageclasses", "networking/v1/ingressclasses"
INGRESSES = "networking/v1/ingresses"
NOT_READY = "node.kubernetes.io/not-ready"
TAINT = {"key": NOT_READY, "effect": "NoSchedule"}
OTHER_TAINTS = [{"key": "a", "effect": "NoSchedule"}, {"key": NOT_READY, "effect": "NoExecute"}]


@pytest.mark.parametrize(
    ("given", "result"),
    [([], [TAINT]), (OTHER_TAINTS, [*OTHER_TAINTS, TAINT]), ([TAINT], [TAINT])],
)
def test_new_nodes_are_tainted(given: list[Any], result: list[Any]) -> None:
    world, plugin = World(), TaintNodesByCondition(KUBERNETES)
    value = world.create(plugin, NODES, {"metadata": {}, "spec": {"taints": given}})
    assert value["spec"]["taints"] == result


def test_nodes_may_lose_the_taint() -> None:
    world, plugin = World(), TaintNodesByCondition(KUBERNETES)
    value = world.update(plugin, NODES, {"spec": {"taints": [TAINT]}}, {"spec": {}})
    assert not value["spec"].get("taints")


@both_dialects
def test_storage_objects_are_protected(dialect: Dialect) -> None:
    world, plugin = World(dialect), StorageObjectInUseProtection(dialect)
    for key, finalizer in ((CLAIMS, dialect.pvc_protection), (VOLUMES, dialect.pv_protection)):
        value = world.create(plugin, key, {"metadata": {"finalizers": ["x.io/y"]}, "spec": {}})
        assert value["metadata"]["finalizers"] == ["x.io/y", finalizer]
        again = world.create(plugin, key, {"metadata": {"finalizers": [finalizer]}, "spec": {}})
        assert again["metadata"]["finalizers"] == [finalizer]
    other = world.create(plugin, CONFIG_MAPS, {"metadata": {}})
    assert not other["metadata"].get("finalizers")


def _class(world: World, key: str, name: str, mark: str, created: str = "2024-01-01") -> None:
    metadata = {
        "name": name,
        "annotations": {mark: "true"},
        "creationTimestamp": f"{created}T00:00:00Z",
    }
    world.put(key, {"metadata": metadata, "provisioner": "p", "spec": {"controller": "x.io/c"}})


STORAGE_MARK = "storageclass.kubernetes.io/is-default-class"


@pytest.mark.parametrize(
    ("claim", "result"),
    [
        ({"spec": {}}, "usual"),
        ({"spec": {"storageClassName": ""}}, ""),
        ({"spec": {"storageClassName": "own"}}, "own"),
        (
            {
                "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
                "spec": {},
            },
            None,
        ),
    ],
)
@pytest.mark.parametrize("mark", [STORAGE_MARK, "storageclass.beta.kubernetes.io/is-default-class"])
def test_default_storage_class(claim: dict[str, Any], result: str | None, mark: str) -> None:
    world = World()
    plugin = DefaultStorageClass(KUBERNETES, world.collection)
    before = world.create(plugin, CLAIMS, claim)["spec"].get("storageClassName")
    assert before == claim["spec"].get("storageClassName")
    _class(world, STORAGE_CLASSES, "usual", mark)
    world.put(STORAGE_CLASSES, {"metadata": {"name": "other"}, "provisioner": "p"})
    assert world.create(plugin, CLAIMS, claim)["spec"].get("storageClassName") == result


def test_two_default_storage_classes() -> None:
    world = World()
    plugin = DefaultStorageClass(KUBERNETES, world.collection)
    for name in ("one", "two"):
        _class(world, STORAGE_CLASSES, name, STORAGE_MARK)
    with refused(
        'persistentvolumeclaims "a" is forbidden: Internal error occurred: 2 default'
        " StorageClasses were found"
    ):
        world.create(plugin, CLAIMS, {"spec": {}})


INGRESS_MARK = "ingressclass.kubernetes.io/is-default-class"


@pytest.mark.parametrize(
    ("ingress", "result"),
    [
        ({"spec": {}}, "newest"),
        ({"spec": {"ingressClassName": "own"}}, "own"),
        ({"metadata": {"annotations": {"kubernetes.io/ingress.class": "x"}}, "spec": {}}, None),
    ],
)
def test_default_ingress_class(ingress: dict[str, Any], result: str | None) -> None:
    world = World()
    plugin = DefaultIngressClass(KUBERNETES, world.collection)
    _class(world, INGRESS_CLASSES, "old", INGRESS_MARK)
    _class(world, INGRESS_CLASSES, "newest", INGRESS_MARK, "2024-02-02")
    _class(world, INGRESS_CLASSES, "zweiter", INGRESS_MARK, "2024-02-02")
    spec = world.create(plugin, INGRESSES, ingress)["spec"]
    assert spec.get("ingressClassName") == result


def test_no_default_ingress_class() -> None:
    world = World()
    plugin = DefaultIngressClass(KUBERNETES, world.collection)
    assert "ingressClassName" not in world.create(plugin, INGRESSES, {"spec": {}})["spec"]


def _claim(size: str, name: str | None = "grow", phase: str = "Bound") -> dict[str, Any]:
    spec: dict[str, Any] = {"resources": {"requests": {"storage": size}}}
    if name is not None:
        spec["storageClassName"] = name
    return {"spec": spec, "status": {"phase": phase}}


NOT_GROWING = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc"
    " must support resize"
)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (_claim("1Gi"), _claim("2Gi"), ""),
        (_claim("1Gi", "fixed"), _claim("1024Mi", "fixed"), ""),
        (_claim("2Gi", "fixed"), _claim("1Gi", "fixed"), ""),
        (_claim("1Gi", "fixed"), _claim("2Gi", "fixed"), NOT_GROWING),
        (_claim("1Gi", "missing"), _claim("2Gi", "missing"), NOT_GROWING),
        (_claim("1Gi", None), _claim("2Gi", None), NOT_GROWING),
        (_claim("1Gi", "fixed"), _claim("2Gi"), NOT_GROWING),
        (
            _claim("1Gi", phase="Pending"),
            _claim("2Gi"),
            "only bound persistent volume claims can be expanded",
        ),
    ],
)
def test_claims_grow_if_their_class_does(old: Any, new: Any, why: str) -> None:
    world = World()
    world.put(
        STORAGE_CLASSES,
        {"metadata": {"name": "grow"}, "provisioner": "p", "allowVolumeExpansion": True},
    )
    world.put(STORAGE_CLASSES, {"metadata": {"name": "fixed"}, "provisioner": "p"})
    plugin = PersistentVolumeClaimResize(KUBERNETES, world.find)
    if not why:
        world.update(plugin, CLAIMS, old, new)
        return
    with refused(f'persistentvolumeclaims "a" is forbidden: {why}'):
        world.update(plugin, CLAIMS, old, new)


def _service(*addresses: str) -> dict[str, Any]:
    return {"spec": {"externalIPs": list(addresses), "ports": [{"port": 80}]}}


def test_external_addresses() -> None:
    world, plugin = World(), DenyServiceExternalIPs()
    text = 'services "a" is forbidden: Use of external IPs is denied by admission control.'
    world.create(plugin, SERVICES, _service())
    world.update(plugin, SERVICES, _service("1.2.3.4", "1.2.3.5"), _service("1.2.3.5"))
    with refused(text):
        world.create(plugin, SERVICES, _service("1.2.3.4"))
    with refused(text):
        world.update(plugin, SERVICES, _service("1.2.3.4"), _service("1.2.3.5"))


def test_namespaces_must_exist() -> None:
    world = World()
    plugin = NamespaceExists(world.find)
    world.create(plugin, NODES, {"metadata": {}})
    with refused('namespaces "ns" not found', 404):
        world.create(plugin, CONFIG_MAPS, {"metadata": {}})
    world.put("core/v1/namespaces", {"metadata": {"name": "ns"}})
    world.create(plugin, CONFIG_MAPS, {"metadata": {}})


def test_namespaces_are_provided() -> None:
    world = World()
    plugin = NamespaceAutoProvision(world.find, world.needs.create_namespace)
    world.create(plugin, CONFIG_MAPS, {"metadata": {}}, dry_run=True)
    world.create(plugin, NODES, {"metadata": {}})
    assert world.provisioned == []
    world.create(plugin, CONFIG_MAPS, {"metadata": {}})
    assert world.provisioned == ["ns"]
    world.put("core/v1/namespaces", {"metadata": {"name": "ns"}})
    world.create(plugin, CONFIG_MAPS, {"metadata": {}})
    assert world.provisioned == ["ns"]


def test_always() -> None:
    world = World()
    admitting: Plugin = AlwaysAdmit()
    world.create(admitting, CONFIG_MAPS, {"metadata": {}})
    with refused('configmaps "a" is forbidden: admission control is denying all modifications'):
        world.create(AlwaysDeny(), CONFIG_MAPS, {"metadata": {}})
