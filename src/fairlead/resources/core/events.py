"""The behaviour of Event. Two styles share one storage: the older style has no `eventTime`, and for
clients of the core group only its loose rules apply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.codec.types.names import dns_subdomain, qualified_name
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes, GoValue
from fairlead.resources.context import Context
from fairlead.resources.core.shared import go_text_fields
from fairlead.resources.go_values import go_time
from fairlead.resources.metadata import check_metadata, check_metadata_update
from fairlead.resources.rules import IMMUTABLE

CORE_VERSION, STRICT_VERSION = "core/v1", "events/v1"
TYPES = ("Normal", "Warning")
MAX_TEXT = 128
MAX_NOTE = 1024
ELSEWHERE = "does not match event.namespace"

_REFERENCE = {
    "kind": "Kind",
    "namespace": "Namespace",
    "name": "Name",
    "uid": "UID",
    "apiVersion": "APIVersion",
    "resourceVersion": "ResourceVersion",
    "fieldPath": "FieldPath",
}


def _reference(value: Object | None) -> Any:
    return None if value is None else go_text_fields("core.ObjectReference", value, _REFERENCE)


def _source(value: Object | None) -> GoValue:
    fields = {"component": "Component", "host": "Host"}
    return go_text_fields("core.EventSource", value or {}, fields)


def _text(value: str | None) -> str:
    return value or ""


def _text_or_empty(value: Any) -> Any:
    """An absent string equals an empty string."""
    return None if value == "" else value


def _number(value: int | None) -> int:
    return value or 0


# Immutable fields: our name, the name in messages, the formatter; in the order of the causes, in
# which one field occurs twice.
_IMMUTABLE_FIELDS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("involvedObject", "involvedObject", _reference),
    ("reason", "reason", _text),
    ("message", "message", _text),
    ("source", "source", _source),
    ("firstTimestamp", "firstTimestamp", go_time),
    ("lastTimestamp", "lastTimestamp", go_time),
    ("count", "count", _number),
    ("reason", "reason", _text),
    ("type", "type", _text),
    ("eventTime", "eventTime", go_time),
    ("action", "action", _text),
    ("related", "related", _reference),
    ("reportingComponent", "reportingController", _text),
    ("reportingInstance", "reportingInstance", _text),
)


class EventBehaviour(Behaviour):
    """Metadata is checked only for clients of the events group."""

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        _check_loosely(value, causes, context)
        if context.group_version != STRICT_VERSION:
            return
        check_metadata(value["metadata"], True, self.name_rule, causes)
        _check_series(value.get("series"), causes)
        if not value.get("eventTime"):
            causes.required("eventTime")
        if value.get("type") not in TYPES:
            causes.invalid("type", "", f"has invalid value: {value.get('type', '')}")
        for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
            if value.get(name):
                causes.invalid(name, "", "needs to be unset")

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        _check_loosely(value, causes, context)
        if context.group_version != STRICT_VERSION:
            return
        check_metadata_update(value["metadata"], old["metadata"], causes)
        if value.get("series") != old.get("series"):
            _check_series(value.get("series"), causes)
        for name, shown, show in _IMMUTABLE_FIELDS:
            if _text_or_empty(value.get(name)) != _text_or_empty(old.get(name)):
                causes.invalid(shown, show(value.get(name)), IMMUTABLE)


def _check_series(series: Object | None, causes: Causes) -> None:
    if series is None:
        return
    if series.get("count", 0) < 2:
        causes.invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        causes.required("series.lastObservedTime")


def _check_loosely(value: Object, causes: Causes, context: Context) -> None:
    namespace = value["metadata"].get("namespace", "")
    if value.get("eventTime"):
        _check_new_style(value, namespace, causes, context)
    else:
        about = value["involvedObject"].get("namespace", "")
        if namespace != about and (about or namespace != "default"):
            causes.invalid("involvedObject.namespace", about, ELSEWHERE)
    causes.invalid_each("namespace", namespace, dns_subdomain(namespace))


def _check_new_style(value: Object, namespace: str, causes: Causes, context: Context) -> None:
    about = value["involvedObject"].get("namespace", "")
    if not about and namespace not in ("default", context.dialect.system_namespace):
        causes.invalid("involvedObject.namespace", about, ELSEWHERE)
    reporter = value["reportingComponent"]
    is_core = context.group_version == CORE_VERSION
    field = "reportingComponent" if is_core else "reportingController"
    if not reporter:
        causes.required(field)
    causes.invalid_each(field, reporter, qualified_name(reporter))
    for name in ("reportingInstance", "action", "reason"):
        text = value.get(name, "")
        if not text:
            causes.required(name)
        _check_length(text, MAX_TEXT, name, causes)
    _check_length(value.get("message", ""), MAX_NOTE, "message", causes)


def _check_length(text: str, limit: int, name: str, causes: Causes) -> None:
    if len(text.encode()) > limit:
        causes.invalid(name, "", f"can have at most {limit} characters")
