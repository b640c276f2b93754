"""Kinds of the events group: events in their newer shape, stored in the shape of the core group."""

from __future__ import annotations

from fairlead.base.dialect import Dialect
from fairlead.base.release import Release
from fairlead.resources.behaviour import Object
from fairlead.resources.registry import register_conversion

# The behaviour is that of the stored version.
BEHAVIOURS: dict[str, str] = {}

# Names in this group and in the core group.
_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_NAMES = {core: name for name, core in _NAMES.items()}
_REPORTERS = ("reportingComponent", "reportingInstance")


def to_core(event: Object, dialect: Dialect, release: Release) -> Object:
    converted = {_NAMES.get(name, name): value for name, value in event.items()}
    for name in _REPORTERS:
        converted.setdefault(name, "")
    if converted.get("series") is not None and not converted["series"].get("count"):
        converted["series"] = {k: v for k, v in converted["series"].items() if k != "count"}
    return converted


def from_core(event: Object, dialect: Dialect, release: Release) -> Object:
    fields = {name: value for name, value in event.items() if value or name not in _REPORTERS}
    converted = {_CORE_NAMES.get(name, name): value for name, value in fields.items()}
    if converted.get("series") is not None:
        converted["series"] = {"count": 0, **converted["series"]}
    return converted


register_conversion("events/v1/events", inward=to_core, outward=from_core)
