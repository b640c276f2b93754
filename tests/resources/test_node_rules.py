"""Rules of runtime classes."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import Kind, duplicate, invalid, unsupported

from fairlead.codec.types.names import dns_label, qualified_name

KEY = "node/v1/runtimeclasses"
TOLERATIONS = "scheduling.tolerations.tolerations"


@pytest.mark.parametrize(
    ("more", "causes"),
    [
        ({}, []),
        ({"overhead": {}, "scheduling": {}}, []),
        ({"handler": "Bad_"}, [invalid("handler", '"Bad_"', dns_label("Bad_")[0])]),
        (
            {"overhead": {"podFixed": {"cpu": "-1"}}},
            [invalid("overhead.limits[cpu]", '"-1"', "must be greater than or equal to 0")],
        ),
        (
            {"overhead": {"podFixed": {"bogus": "1"}}},
            [
                invalid(
                    "overhead.limits[bogus]",
                    '"bogus"',
                    "must be a standard resource type or fully qualified",
                ),
                invalid(
                    "overhead.limits[bogus]",
                    '"bogus"',
                    "must be a standard resource for containers",
                ),
            ],
        ),
        (
            {"scheduling": {"nodeSelector": {"bad key": "x"}}},
            [invalid("scheduling.nodeSelector", '"bad key"', qualified_name("bad key")[0])],
        ),
        (
            {"scheduling": {"tolerations": [{"key": "k", "operator": "Foo"}]}},
            [unsupported(f"{TOLERATIONS}[0].operator", '"Foo"', "Equal", "Exists")],
        ),
        (
            {"scheduling": {"tolerations": [{"key": "k", "value": "v"}] * 2}},
            [
                duplicate(
                    "scheduling.tolerations[1]",
                    'core.Toleration{Key:"k", Operator:"", Value:"v", Effect:"",'
                    " TolerationSeconds:(*int64)(nil)}",
                )
            ],
        ),
    ],
)
def test_runtime_class(more: dict[str, Any], causes: list[Any]) -> None:
    assert Kind(KEY).wrong({"handler": "runc", **more}) == causes


def test_the_handler_stays() -> None:
    kind = Kind(KEY)
    _, causes = kind.update(kind.existing({"handler": "runc"}), {"handler": "other"})
    assert causes == [invalid("handler", '"other"', "field is immutable")]
