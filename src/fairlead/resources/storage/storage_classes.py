"""The behaviour of StorageClass, how the volumes of a class are provisioned, and of
VolumeAttributesClass, attributes that a driver can change while a volume is in use. Both are mostly
immutable."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fairlead.codec.types.names import qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.warnings import newer_node_label
from fairlead.resources.rules import immutable, one_of_if_set
from fairlead.resources.storage.shared import OrderedBehaviour, Step

MAX_PARAMETERS = 512
MAX_PARAMETER_BYTES = 256 * 1024
RECLAIM_POLICIES = ("Delete", "Retain")
BINDING_MODES = ("Immediate", "WaitForFirstConsumer")


class StorageClassBehaviour(OrderedBehaviour):
    update_order = (Step.METADATA, Step.RULES, Step.METADATA_CHANGE, Step.CHANGE)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        _check_provisioner(value["provisioner"], "provisioner", causes)
        _check_parameters(value.get("parameters") or {}, causes)
        one_of_if_set(value.get("reclaimPolicy"), RECLAIM_POLICIES, "reclaimPolicy", causes)
        mode = value.get("volumeBindingMode")
        if mode is None:
            causes.required("volumeBindingMode")
        elif mode not in BINDING_MODES:
            causes.unsupported("volumeBindingMode", mode, BINDING_MODES)
        _check_topologies(value.get("allowedTopologies") or [], causes)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        for name in ("parameters", "provisioner", "reclaimPolicy"):
            if context.gates["CheckedOnce"]:
                immutable(value.get(name), old.get(name), name, causes)
            elif value.get(name) != old.get(name):
                causes.forbidden(name, f"updates to {name} are forbidden.")
        name = "volumeBindingMode"
        immutable(value.get(name), old.get(name), name, causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        for index, term in enumerate(value.get("allowedTopologies") or ()):
            path = f"allowedTopologies[{index}].matchLabelExpressions"
            for number, rule in enumerate(term.get("matchLabelExpressions") or ()):
                if newer := newer_node_label(rule["key"], context):
                    context.warn(f"{path}[{number}].key: {newer}")


class VolumeAttributesClassBehaviour(OrderedBehaviour):
    update_order = (Step.METADATA_CHANGE, Step.CHANGE, Step.METADATA, Step.RULES)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        _check_provisioner(value["driverName"], "driverName", causes)
        parameters = value.get("parameters") or {}
        _check_parameters(parameters, causes)
        if not parameters:
            causes.required("parameters", "must contain at least one key/value pair")

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        for name in ("driverName", "parameters"):
            if (value.get(name) or {}) != (old.get(name) or {}):
                causes.forbidden(name, f"updates to {name} are forbidden.")


def _check_provisioner(provisioner: str, path: str, causes: Causes) -> None:
    if not provisioner:
        causes.required(path)
    else:
        lower = provisioner.lower()
        causes.invalid_each(path, lower, qualified_name(lower))


def _check_parameters(parameters: dict[str, str], causes: Causes) -> None:
    if len(parameters) > MAX_PARAMETERS:
        causes.too_long("parameters", MAX_PARAMETERS)
        return
    if "" in parameters:
        causes.invalid("parameters", "", "field can not be empty.")
    size = sum(len(key.encode()) + len(text.encode()) for key, text in parameters.items())
    if size > MAX_PARAMETER_BYTES:
        causes.too_long("parameters", MAX_PARAMETER_BYTES)


def _check_topologies(terms: list[dict[str, Any]], causes: Causes) -> None:
    # The reference compares with as many empty terms as there are terms, so that an empty term is
    # reported as a duplicate that many times.
    seen = Counter({_NO_TERM: len(terms)})
    for index, term in enumerate(terms):
        path = f"allowedTopologies[{index}].matchLabelExpressions"
        label_values = _check_term(term.get("matchLabelExpressions") or [], path, causes)
        for _ in range(seen[label_values]):
            causes.duplicate(path, "")
        seen[label_values] += 1


_Term = frozenset[tuple[str, frozenset[str]]]  # the keys of a term with their values
_NO_TERM: _Term = frozenset()


def _check_term(rules: list[dict[str, Any]], path: str, causes: Causes) -> _Term:
    label_values: dict[str, frozenset[str]] = {}
    for index, rule in enumerate(rules):
        key, values = rule["key"], rule["values"] or []
        item_path = f"{path}[{index}]"
        if not values:
            causes.required(f"{item_path}.values")
        seen: set[str] = set()
        for number, text in enumerate(values):
            if text in seen:
                causes.duplicate(f"{item_path}.values[{number}]", text)
            seen.add(text)
        causes.invalid_each(f"{item_path}.key", key, qualified_name(key))
        if key in label_values:
            causes.duplicate(f"{item_path}.key", key)
        label_values[key] = frozenset(seen)
    return frozenset(label_values.items())
