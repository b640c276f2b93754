"""The rules of the definitions hold."""

from __future__ import annotations

from typing import Any

import pytest
from platform_support import Platform

from fairlead.client.errors import Invalid

Object = dict[str, Any]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"engine": "mysql"}, "the engine of a database cannot be changed"),
        ({"plan": "other"}, "the plan of a database cannot be changed"),
        ({"storage": 9}, "storage can only grow"),
        ({"replicas": 2}, "the number of replicas must be odd"),
        ({"replicas": 11}, "less than or equal to 9"),
        ({"engine": "abacus"}, 'supported values: "mysql", "postgres"'),
    ],
)
def test_changes_that_break_a_rule_are_refused(
    platform: Platform, change: Object, words: str
) -> None:
    assert platform.order()["spec"]["replicas"] == 1
    with pytest.raises(Invalid, match=words):
        platform.databases.patch("orders", {"spec": change}, platform.namespace)
    grown = {"spec": {"storage": 11, "replicas": 3}}
    assert platform.databases.patch("orders", grown, platform.namespace)["spec"]["storage"] == 11
