"""Owners in several versions of a kind: each is compared in its own."""

from __future__ import annotations

from typing import Any

import pytest
from support.patching import TYPES, Cluster

from fairlead.codec.types.model import Struct
from fairlead.fields.conflicts import ApplyConflict

Object = dict[str, Any]
V1, V2 = "autoscaling/v1", "autoscaling/v2"


class Autoscalers:
    """Two versions of the autoscaler, as far as the tests need them converted."""

    are_fixed = True

    def struct(self, api_version: str) -> Struct | None:
        if api_version not in (V1, V2):
            return None
        return TYPES.struct(api_version + ".HorizontalPodAutoscaler")

    def convert(self, value: Object, api_version: str) -> Object:
        if value["apiVersion"] == api_version:
            return value
        spec = dict(value.get("spec") or {})
        if api_version == V1:
            for metric in spec.pop("metrics", None) or []:
                target = metric["resource"]["target"]
                spec["targetCPUUtilizationPercentage"] = target["averageUtilization"]
        elif (percentage := spec.pop("targetCPUUtilizationPercentage", None)) is not None:
            spec["metrics"] = metrics(percentage)
        return {**value, "apiVersion": api_version, "spec": spec}


def metrics(percentage: int) -> list[Object]:
    target = {"type": "Utilization", "averageUtilization": percentage}
    return [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}


class Autoscaler(Cluster):
    """One autoscaler, written in several versions."""

    def __init__(self) -> None:
        super().__init__(Struct("none"), versions=Autoscalers())

    def use(self, api_version: str) -> None:
        self.api_version = api_version
        if self.live is not None:
            self.live = self.versions.convert(self.live, api_version)

    def set(self, manager: str, version: str, spec: Object, **facts: Any) -> Object:
        self.use(version)
        head = {"apiVersion": version, "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
        return self.apply(manager, {**head, "spec": spec}, **facts)

    def update(self, manager: str, version: str, spec: Object) -> Object:
        self.use(version)
        return self.put(manager, {**self.object, "spec": {**self.object["spec"], **spec}})


@pytest.fixture
def scaler() -> Autoscaler:
    autoscaler = Autoscaler()
    autoscaler.set("aa", V2, {"minReplicas": 1, "maxReplicas": 3, "metrics": metrics(50)})
    return autoscaler


def test_a_conflict_names_the_field_of_the_owners_version(scaler: Autoscaler) -> None:
    with pytest.raises(ApplyConflict) as conflict:
        scaler.set("bb", V1, {"targetCPUUtilizationPercentage": 60})
    assert [c.field for c in conflict.value.conflicts] == [".spec.metrics"]


def test_fields_are_shared_across_versions(scaler: Autoscaler) -> None:
    scaler.set("bb", V1, {"maxReplicas": 3})
    assert [(e["manager"], e["apiVersion"], "time" in e) for e in scaler.entries] == [
        ("bb", V1, False),
        ("aa", V2, True),
    ]


def test_an_applier_has_one_entry_in_the_version_it_used_last(scaler: Autoscaler) -> None:
    scaler.set("aa", V1, {"maxReplicas": 3, "minReplicas": 1})
    assert [(e["apiVersion"], e["fieldsV1"]) for e in scaler.entries] == [
        (V1, {"f:spec": {"f:maxReplicas": {}, "f:minReplicas": {}}})
    ]


def test_apply_in_another_version_gives_up_fields_of_the_first(scaler: Autoscaler) -> None:
    result = scaler.set("aa", V1, {"maxReplicas": 3})
    assert result["spec"] == {"maxReplicas": 3, "scaleTargetRef": {"kind": "", "name": ""}}


def test_apply_in_another_version_keeps_fields_of_other_owners(scaler: Autoscaler) -> None:
    scaler.set("bb", V1, {"targetCPUUtilizationPercentage": 50})
    scaler.set("aa", V2, {"maxReplicas": 3})
    assert scaler.object["spec"]["metrics"] == metrics(50)


def test_what_is_atomic_in_one_version_may_be_granular_in_another(scaler: Autoscaler) -> None:
    scaler.set("aa", V1, {"maxReplicas": 3, "scaleTargetRef": TARGET})
    assert scaler.owned_by("aa")["f:spec"]["f:scaleTargetRef"] == {}
    scaler.set("aa", V2, {"maxReplicas": 3, "scaleTargetRef": TARGET})
    assert scaler.owned_by("aa")["f:spec"]["f:scaleTargetRef"] == {
        "f:apiVersion": {},
        "f:kind": {},
        "f:name": {},
    }


def test_an_updater_has_an_entry_for_each_version_it_used(scaler: Autoscaler) -> None:
    scaler.update("upd", V2, {"minReplicas": 2})
    scaler.update("upd", V1, {"targetCPUUtilizationPercentage": 70})
    updates = [(e["apiVersion"], e["fieldsV1"]) for e in scaler.entries if e["manager"] == "upd"]
    assert updates == [
        (V2, {"f:spec": {"f:minReplicas": {}}}),
        (V1, {"f:spec": {"f:targetCPUUtilizationPercentage": {}}}),
    ]
    assert scaler.owned_by("aa") == {"f:spec": {"f:maxReplicas": {}}}
