"""Annotations of nodes that mean something: taints from before they had a field, and whose pods
should rather run elsewhere."""

from __future__ import annotations

from typing import Any, Final

import orjson

from fairlead.codec.json_syntax import describe_json_error
from fairlead.codec.types.mismatch import json_kind
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.annotated_lists import read_list
from fairlead.resources.core.taints import check_taints

TAINTS: Final = "scheduler.alpha.@/taints"
AVOIDED: Final = "scheduler.alpha.@/preferAvoidPods"

_PATH = "metadata.annotations"
_TAINT_TYPES: Final[dict[str, str]] = {
    "key": "string",
    "value": "string",
    "effect": "core.TaintEffect",
}


def check_node_annotations(metadata: Object, causes: Causes, context: Context) -> None:
    annotations: dict[str, str] = metadata.get("annotations") or {}
    key = context.dialect.label(TAINTS)
    if annotations.get(key):
        taints, wrong = read_list(annotations[key], "Taint", _TAINT_TYPES)
        if wrong:
            causes.invalid(_PATH, key, wrong)
        check_taints(taints, f"{_PATH}.{key}", causes)
    key = context.dialect.label(AVOIDED)
    if annotations.get(key):
        _check_avoided(annotations[key], key, causes)


def _check_avoided(text: str, key: str, causes: Causes) -> None:
    try:
        found: Any = orjson.loads(text)
        wrong = _misfit(found)
    except orjson.JSONDecodeError:
        found, wrong = None, describe_json_error(text.encode())
    if wrong:
        causes.invalid(f"{_PATH}.AvoidPods", key, wrong)
        return
    for index, entry in enumerate((found or {}).get("preferAvoidPods") or ()):
        path = f"{_PATH}.{key}[{index}].PodSignature"
        controller = ((entry or {}).get("podSignature") or {}).get("podController")
        if controller is None:
            causes.required(path)
        elif not controller.get("controller"):
            field = f"{path}.PodController.Controller"
            causes.invalid(field, False, "must point to a controller")


# The steps from an entry to the controller of its pods, with the types in which they lie.
_STEPS = (
    ("podSignature", "PreferAvoidPodsEntry", "v1.PodSignature"),
    ("podController", "PodSignature", "v1.OwnerReference"),
)


def _misfit(found: Any) -> str:
    """What keeps parsed JSON, which is anything, from telling which pods to avoid."""
    if found is not None and not isinstance(found, dict):
        return f"json: cannot unmarshal {json_kind(found)} into Go value of type v1.AvoidPods"
    place, entries = "AvoidPods.preferAvoidPods", (found or {}).get("preferAvoidPods")
    if entries is not None and not isinstance(entries, list):
        return _in_field(entries, place, "[]v1.PreferAvoidPodsEntry")
    for entry in entries or ():
        if entry is not None and not isinstance(entry, dict):
            return _in_field(entry, place, "v1.PreferAvoidPodsEntry")
        inner, where = entry, "preferAvoidPods"
        for name, struct, kind in _STEPS:
            inner, where = (inner or {}).get(name), f"{where}.{name}"
            if inner is not None and not isinstance(inner, dict):
                return _in_field(inner, f"{struct}.{where}", kind)
    return ""


def _in_field(value: Any, field: str, kind: str) -> str:
    return f"json: cannot unmarshal {json_kind(value)} into Go struct field {field} of type {kind}"
