"""Event in both of its styles and both of its groups."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from support.group_rules import DROP, Found, Kind, Object, changed, invalid, required

import fairlead.resources.events  # noqa: F401  (declares the conversion)
from fairlead.codec.types.decode import decoder
from fairlead.resources.context import Context
from fairlead.resources.registry import from_stored, to_stored

ELSEWHERE = "does not match event.namespace"
OLD: Object = {"involvedObject": {"namespace": "ns"}}
NEW: Object = {
    "involvedObject": {"namespace": "ns", "kind": "Pod", "name": "p"},
    "eventTime": "2020-01-01T00:00:00.000000Z",
    "reportingComponent": "example.com/c",
    "reportingInstance": "i",
    "action": "Act",
    "reason": "Why",
    "type": "Normal",
    "message": "m",
}


class Events(Kind):
    def __init__(self, version: str) -> None:
        self.version = version
        super().__init__("core/v1/events")

    def _context(self, *args: Any, **more: Any) -> Context:
        context = super()._context(*args, **more)
        context.group_version = self.version
        return context


LOOSE: list[tuple[Object, Found]] = [
    (OLD, []),
    ({**OLD, "metadata": {"name": "Any_Name"}}, []),
    ({}, [invalid("involvedObject.namespace", '""', ELSEWHERE)]),
    (
        {"involvedObject": {"namespace": "other"}},
        [invalid("involvedObject.namespace", '"other"', ELSEWHERE)],
    ),
    ({"metadata": {"namespace": "default"}}, []),
    (NEW, []),
    ({**NEW, "type": "Odd", "count": 3}, []),
    (
        changed(NEW, {"involvedObject.namespace": "", "reportingInstance": "", "action": ""}),
        [
            invalid("involvedObject.namespace", '""', ELSEWHERE),
            required("reportingInstance"),
            required("action"),
        ],
    ),
    (
        changed(NEW, {"reportingComponent": "a/b/c"}),
        [
            invalid(
                "reportingComponent",
                '"a/b/c"',
                "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and"
                " must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',"
                "  or '123-abc', regex used for validation is"
                " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain"
                " prefix and '/' (e.g. 'example.com/MyName')",
            )
        ],
    ),
    (
        changed(NEW, {"reason": "x" * 129, "message": "x" * 1025}),
        [
            invalid("reason", '""', "can have at most 128 characters"),
            invalid("message", '""', "can have at most 1024 characters"),
        ],
    ),
]


@pytest.mark.parametrize(("value", "expected"), LOOSE)
def test_rules_for_clients_of_the_core_group(value: Object, expected: Found) -> None:
    assert Events("core/v1").wrong(value) == expected


UNSET = "needs to be unset"
STRICT: list[tuple[Object, Found]] = [
    (NEW, []),
    ({**OLD, "type": "Normal"}, [required("eventTime")]),
    ({**NEW, "type": "Odd"}, [invalid("type", '""', "has invalid value: Odd")]),
    (
        {
            **NEW,
            "firstTimestamp": "2020-01-01T00:00:00Z",
            "lastTimestamp": "2020-01-01T00:00:00Z",
            "count": 1,
            "source": {"host": "h"},
        },
        [
            invalid(name, '""', UNSET)
            for name in ("firstTimestamp", "lastTimestamp", "count", "source")
        ],
    ),
    (
        {**NEW, "series": {"count": 1}},
        [
            invalid("series.count", '""', "should be at least 2"),
            required("series.lastObservedTime"),
        ],
    ),
]


@pytest.mark.parametrize(("value", "expected"), STRICT)
def test_rules_for_clients_of_the_events_group(value: Object, expected: Found) -> None:
    assert Events("events/v1").wrong(value) == expected


def test_the_events_group_checks_names() -> None:
    errors = Events("events/v1").wrong({**NEW, "metadata": {"name": "A_b"}})
    assert [field for field, _, _ in errors] == ["metadata.name"]


def test_an_event_is_said_once() -> None:
    kind = Events("events/v1")
    old = kind.existing(NEW)
    series = {"count": 2, "lastObservedTime": "2020-01-01T00:00:01.000000Z"}
    assert kind.update(old, {**NEW, "series": series})[1] == []
    other = changed(
        NEW,
        {"involvedObject.name": "q", "eventTime": DROP, "reportingComponent": "d", "related": {}},
    )
    reference = (
        'core.ObjectReference{{Kind:"{0}", Namespace:"{1}", Name:"{2}", UID:"", APIVersion:"",'
        ' ResourceVersion:"", FieldPath:""}}'
    )
    fixed = "field is immutable"
    assert kind.update(old, other)[1] == [
        invalid("involvedObject", reference.format("Pod", "ns", "q"), fixed),
        invalid("eventTime", "0001-01-01 00:00:00 +0000 UTC", fixed),
        invalid("related", reference.format("", "", ""), fixed),
        invalid("reportingController", '"d"', fixed),
    ]
    assert Events("core/v1").update(old, {**NEW, "message": "other"})[1] == []


def test_the_events_group_renames() -> None:
    kind = Kind("events/v1/events")
    sent = {
        "metadata": {"name": "a"},
        "eventTime": "2020-01-01T00:00:00.000000Z",
        "regarding": {"kind": "Pod"},
        "note": "n",
        "reportingController": "c",
        "deprecatedCount": 3,
        "deprecatedSource": {"component": "x"},
        "series": {"count": 0, "lastObservedTime": None},
    }
    decoded = decoder(kind.resource.struct)(deepcopy(sent), [])
    kept = to_stored(kind.resource, deepcopy(decoded))
    assert kept["involvedObject"] == {"kind": "Pod"}
    assert kept["message"] == "n"
    assert (kept["reportingComponent"], kept["reportingInstance"]) == ("c", "")
    assert (kept["count"], kept["source"]) == (3, {"component": "x"})
    again = decoder(kind.resource.stored_struct)(deepcopy(kept), [])
    assert again == kept
    assert from_stored(kind.resource, kept) == decoded
