"""Fields that a patch leaves unchanged are not decoded again."""

from __future__ import annotations

import copy
from typing import Any

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.operations.managed_fields import decode_beside
from fairlead.resources.registry import Resources

PODS = Resources(KUBERNETES, BuiltinTypes(KUBERNETES)).named("core/v1/pods")
POD = PODS.stored_struct
STORED: dict[str, Any] = {
    "metadata": {"name": "a", "managedFields": [{"manager": "m"}]},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}]},
    "status": {"phase": "Running"},
}


def test_decode_beside_copies_an_unchanged_part_in_its_place() -> None:
    stored = copy.deepcopy(STORED)
    document = {**stored, "metadata": {**stored["metadata"], "labels": {"a": "b"}}}
    value, keeps_content = decode_beside(PODS, POD, document, stored, [])
    assert keeps_content
    value["spec"]["containers"][0]["image"] = "other"
    assert stored == STORED
    assert list(value) == ["metadata", "spec", "status"]
    assert value["metadata"]["managedFields"] is stored["metadata"]["managedFields"]


def test_decode_beside_decodes_a_changed_part() -> None:
    stored = copy.deepcopy(STORED)
    unknown: list[str] = []
    document = {**stored, "spec": {**stored["spec"], "colour": "blue"}}
    value, keeps_content = decode_beside(PODS, POD, document, stored, unknown)
    assert not keeps_content
    assert "colour" not in value["spec"]
    assert unknown == ["colour"]
