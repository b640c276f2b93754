"""Fields of disabled features are dropped, unless the stored object uses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.namespaces import Space
from support.pod_rules import RESOURCES, Kind, Object, container_pod, pod
from support.process import FreshServer

from fairlead.base.release import V1_36
from fairlead.codec.types.model import ListOf, MapOf, Struct, Type
from fairlead.resources.gated_fields import EACH, GatedField, disabled_fields
from fairlead.resources.gates import Gates, states
from fairlead.resources.registry import Resource

PODS = Kind(release=V1_36)


def with_signal(**hooks: object) -> Object:
    return container_pod(lifecycle={"stopSignal": "SIGUSR1", **hooks})


def test_a_lifecycle_whose_only_field_is_dropped_goes_with_it() -> None:
    created, causes, _ = PODS.create(with_signal())
    assert causes == []
    assert "lifecycle" not in created["spec"]["containers"][0]


def test_other_fields_of_the_lifecycle_stay() -> None:
    hook = {"preStop": {"sleep": {"seconds": 1}}}
    created, _, _ = PODS.create(with_signal(**hook))
    assert created["spec"]["containers"][0]["lifecycle"] == hook


def test_a_projected_source_stays_without_its_only_member() -> None:
    source = {"clusterTrustBundle": {"name": "b", "path": "p"}}
    volume = {"name": "v", "projected": {"sources": [source]}}
    created, _, _ = PODS.create(pod(volumes=[volume]))
    assert created["spec"]["volumes"][0]["projected"]["sources"] == [{}]


def test_a_gate_that_is_on_keeps_its_field() -> None:
    value = with_signal()
    value["spec"]["os"] = {"name": "linux"}
    created, causes, _ = PODS.create(value, {"ContainerStopSignals": True})
    assert causes == []
    assert created["spec"]["containers"][0]["lifecycle"] == {"stopSignal": "SIGUSR1"}


def test_what_the_stored_object_uses_is_kept() -> None:
    value = with_signal()
    value["spec"]["os"] = {"name": "linux"}
    old, _, _ = PODS.create(value, {"ContainerStopSignals": True})
    changed = PODS.decode(value)
    changed["metadata"].update(old["metadata"])
    updated, causes = PODS.update(changed, old)
    assert causes == []
    assert updated["spec"]["containers"][0]["lifecycle"] == {"stopSignal": "SIGUSR1"}


def test_release_1_25_does_not_know_the_field() -> None:
    created, causes, _ = Kind().create(with_signal(preStop={"exec": {"command": ["x"]}}))
    assert causes == []
    assert "stopSignal" not in created["spec"]["containers"][0]["lifecycle"]


def kinds() -> list[Resource]:
    """The stored kinds of release 1.36."""
    return [
        resource
        for versions in RESOURCES["kubernetes", V1_36.name].groups.values()
        for version in versions.values()
        for resource in version.resources.values()
        if "/" not in resource.name
    ]


def gates_in(node: Type, around: frozenset[int] = frozenset()) -> Iterator[str]:
    while isinstance(node, (ListOf, MapOf)):
        node = node.element
    if not isinstance(node, Struct) or id(node) in around:
        return
    for field in node.fields.values():
        if field.gate:
            yield field.gate
        yield from gates_in(field.type, around | {id(node)})


def marked() -> list[Any]:
    """Every kind with each gate that is on and can be switched off."""
    can_be_off = {name for name, state in states(V1_36).items() if state == "on"}
    return [
        pytest.param(resource, gate, id=f"{resource.name}-{gate}")
        for resource in kinds()
        for gate in sorted(can_be_off & {*gates_in(resource.stored_struct)})
    ]


def using(field: GatedField) -> Object:
    """An object with a field at its first place."""
    value: Any = {field.name: "x"}
    for step in reversed(field.holders[0]):
        value = [value] if step == EACH else {step: value}
    result: Object = value
    return result


@pytest.mark.parametrize(("resource", "gate"), marked())
def test_a_gate_that_is_switched_off_drops_its_fields(resource: Resource, gate: str) -> None:
    root = resource.stored_struct
    always = disabled_fields(root, Gates(release=V1_36))
    fields = disabled_fields(root, Gates({gate: False}, V1_36))
    own = [field for field in fields.fields if field not in always.fields]
    assert own
    for field in own:
        value = using(field)
        fields.drop(value, using(field))
        assert value == using(field)
        fields.drop(value, None)
        assert f"'{field.name}': 'x'" not in str(value)


def test_the_server_drops_fields_of_gates_that_are_off(fresh_server: FreshServer) -> None:
    gates = "ContainerRestartRules=false,EnvFiles=false,HostnameOverride=false"
    server = fresh_server("--release=1.36", f"--feature-gates={gates}")
    space = Space(server, server.client())
    space.ready_for_pods()
    rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]
    own = {"restartPolicy": "Never", "restartPolicyRules": rules}
    sidecar = {"name": "s", "image": "i", "restartPolicy": "Always"}
    created = space.collection("pods").create(
        "p",
        spec={
            "hostnameOverride": "other",
            "initContainers": [sidecar],
            "containers": [{"name": "c", "image": "i", **own}],
        },
    )
    spec = created["spec"]
    assert "hostnameOverride" not in spec
    assert not {*own} & {*spec["containers"][0]}
    assert spec["initContainers"][0]["restartPolicy"] == "Always"
