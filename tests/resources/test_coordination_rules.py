"""Rules of leases."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import Kind, invalid

DURATION = "spec.leaseDurationSeconds"


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({}, []),
        ({"holderIdentity": "", "leaseDurationSeconds": 15, "leaseTransitions": 0}, []),
        ({"leaseDurationSeconds": 0}, [invalid(DURATION, "0", "must be greater than 0")]),
        (
            {"leaseDurationSeconds": -1, "leaseTransitions": -1},
            [
                invalid(DURATION, "-1", "must be greater than 0"),
                invalid("spec.leaseTransitions", "-1", "must be greater than or equal to 0"),
            ],
        ),
    ],
)
def test_lease(spec: dict[str, Any], causes: list[Any]) -> None:
    kind = Kind("coordination/v1/leases")
    assert kind.wrong({"spec": spec}) == causes
    assert kind.update(kind.existing({"spec": {}}), {"spec": spec})[1] == causes
