"""The behaviour and the selectable fields of each resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from fairlead.resources.behaviour import Behaviour
from fairlead.resources.registry import Resource


def behaviour_of(resource: Resource) -> Behaviour:
    """The behaviour of a stored kind: the resource's own, or the class that
    `resources.<group>.BEHAVIOURS` names. Its module is imported when the first object of the kind
    is written, to keep the start of the server fast."""
    if resource.make_behaviour is not None:
        return resource.make_behaviour(resource)
    package = f"{__package__}.{resource.group_version.short}"
    behaviours: dict[str, str] = import_module(package).BEHAVIOURS if find_spec(package) else {}
    path = behaviours.get(resource.key)
    if path is None:
        return Behaviour(resource)
    module, _, name = path.rpartition(".")
    behaviour: Behaviour = getattr(import_module(f"{package}.{module}"), name)(resource)
    return behaviour


# Selectable names that differ from the path of the field; the first path that is set counts.
_FIELD_PATHS: Final = {
    ("jobs", "status.successful"): ("status.succeeded",),
    ("events", "source"): ("source.component", "reportingComponent"),
}
# The values of unset numbers and booleans.
_UNSET: Final = {"status.replicas": "0", "status.successful": "0", "spec.unschedulable": "false"}


def field_selector(resource: Resource) -> Callable[[dict[str, Any]], Mapping[str, str]] | None:
    """A function that reads the selectable fields of an object; None if the kind has none."""
    if resource.custom is not None:
        return custom_fields(resource.custom.definition.selectable)
    if not resource.selectable:
        return None
    rows = [
        (name, *path.rpartition(".")[::2], _UNSET.get(name, ""))
        for name in resource.selectable
        for path in reversed(_FIELD_PATHS.get((resource.name, name), (name,)))
    ]

    def select(value: dict[str, Any]) -> Mapping[str, str]:
        fields: dict[str, str] = {}
        for name, parent, leaf, unset in rows:  # a later path that is set overrides
            holder = value.get(parent) if parent else value
            text = holder.get(leaf) if holder else None
            if text.__class__ is not str:
                text = "" if text is None else _text(text)
            fields[name] = text or fields.get(name) or unset
        return fields

    return select


def custom_fields(
    names: Sequence[str],
) -> Callable[[dict[str, Any]], Mapping[str, str]] | None:
    """A function that reads fields of a custom object by their paths."""
    paths = [(name, name.split(".")) for name in names]

    def select(value: dict[str, Any]) -> Mapping[str, str]:
        fields: dict[str, str] = {}
        for name, steps in paths:
            found: Any = value
            for step in steps:
                found = found.get(step) if found.__class__ is dict else None
            fields[name] = "" if found is None else _text(found)
        return fields

    return select if paths else None


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
