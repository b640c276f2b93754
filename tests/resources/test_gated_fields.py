"""Fields of disabled features are dropped, unless the stored object uses them."""

from __future__ import annotations

from support.pod_rules import Kind, Object, container_pod, pod

from fairlead.base.release import V1_36

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
