"""Label and field selectors of a resource."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.base.errors import StatusError, bad_request
from fairlead.resources.registry import Resource
from fairlead.storage.selection import (
    Requirement,
    Selection,
    SelectorError,
    parse_fields,
    parse_labels,
)

_GENERIC_FIELDS = ("metadata.name", "metadata.namespace")


def select(resource: Resource, labels: str, fields: str) -> Selection:
    """Parse a label and a field selector; raises BadRequest."""
    try:
        parsed = parse_labels(labels), parse_fields(fields)
    except SelectorError as error:
        raise bad_request(str(error)) from None
    return Selection(parsed[0], _known_fields(resource, parsed[1]))


def by_name(selection: Selection, name: str) -> Selection:
    """The selection restricted to one name."""
    rule = Requirement("metadata.name", "in", frozenset([name]))
    return Selection(selection.labels, (*selection.fields, rule))


def stored_part(resource: Resource, selection: Selection) -> Selection | None:
    """The part of a selection that stored objects decide, if not all of it: a webhook converts
    objects of the kind, and may put the selected fields elsewhere."""
    main = resource.main
    if main.custom is None or main.custom.definition.converter is None:
        return None
    generic = tuple(rule for rule in selection.fields if rule.key not in main.selectable)
    if len(generic) == len(selection.fields):
        return None
    return Selection(selection.labels, generic)


def _known_fields(resource: Resource, fields: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
    main = resource.main
    aliases = _field_aliases(main)
    requirements = []
    for rule in fields:
        name = aliases.get(rule.key, rule.key)
        if name not in _generic_fields(main) and name not in main.selectable:
            raise unknown_field(main, rule.key)
        requirements.append(Requirement(name, rule.operator, rule.values))
    return tuple(requirements)


def _generic_fields(resource: Resource) -> tuple[str, ...]:
    """Cluster-scoped kinds that are custom or have own selectable fields lack
    `metadata.namespace`."""
    if _own_fields(resource) and not resource.namespaced:
        return _GENERIC_FIELDS[:1]
    return _GENERIC_FIELDS


def _own_fields(resource: Resource) -> bool:
    return bool(resource.selectable) or resource.custom is not None


def _field_aliases(resource: Resource) -> Mapping[str, str]:
    return _ALIASES.get(resource.key, {})


# The events group has other field names than the core group, in which its objects are stored; the
# core names are rejected there. Pods have an older alias for the node.
_EVENT_ALIASES = {
    "reportingController": "reportingComponent",
    **{
        f"regarding.{part}": f"involvedObject.{part}"
        for part in (
            "kind",
            "namespace",
            "name",
            "uid",
            "apiVersion",
            "resourceVersion",
            "fieldPath",
        )
    },
}
_ALIASES: Mapping[str, Mapping[str, str]] = {
    "events/v1/events": {**dict.fromkeys(_EVENT_ALIASES.values(), ""), **_EVENT_ALIASES},
    "core/v1/pods": {"spec.host": "spec.nodeName"},
}


def unknown_field(resource: Resource, name: str) -> StatusError:
    if resource.key == "batch/v1/jobs":
        return bad_request(f'field label "{name}" not supported for Job')
    if resource.key == "resource/v1/resourceslices":
        kind = f"{resource.api_version}, Kind={resource.kind}"
        return bad_request(f"field label not supported for {kind}: {name}")
    if _own_fields(resource):
        return bad_request(f"field label not supported: {name}")
    return bad_request(
        f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )
