"""Rules of the scheduling group."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import Found, Kind, changed, forbidden, invalid, unsupported

Changes = dict[str, Any]
CLASS: dict[str, Any] = {"metadata": {"name": "a"}, "value": 1}
RESERVED = "priority class names with 'system-' prefix are reserved for system use only. error:"


def system(why: str) -> tuple[str, str, str]:
    return forbidden("metadata.name", f"{RESERVED} {why}")


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        ({"value": -5}, []),
        ({"value": 1_000_000_000}, []),
        (
            {"value": 1_000_000_001},
            [forbidden("value", "maximum allowed value of a user defined priority is 1000000000")],
        ),
        ({"metadata.name": "system-x"}, [system("system-x is not a known system priority class")]),
        (
            {"metadata.name": "system-node-critical"},
            [system("value of system-node-critical PriorityClass must be 2000001000")],
        ),
        ({"metadata.name": "system-cluster-critical", "value": 2_000_000_000}, []),
        (
            {
                "metadata.name": "system-cluster-critical",
                "value": 2_000_000_000,
                "globalDefault": True,
            },
            [system("globalDefault of system-cluster-critical PriorityClass must be false")],
        ),
        (
            {"preemptionPolicy": "X"},
            [unsupported("preemptionPolicy", '"X"', "PreemptLowerPriority", "Never")],
        ),
    ],
)
def test_priority_class(changes: Changes, causes: Found) -> None:
    assert Kind("scheduling/v1/priorityclasses").wrong(changed(CLASS, changes)) == causes


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({"description": "x", "globalDefault": True}, []),
        ({"value": 2}, [forbidden("value", "may not be changed in an update.")]),
        (
            {"preemptionPolicy": "Never"},
            [invalid("preemptionPolicy", '"Never"', "field is immutable")],
        ),
    ],
)
def test_priority_class_change(changes: Changes, causes: Found) -> None:
    kind = Kind("scheduling/v1/priorityclasses")
    new, errors = kind.update(kind.existing(CLASS), changed(CLASS, changes))
    assert (errors, new["metadata"]["generation"]) == (causes, 1)
