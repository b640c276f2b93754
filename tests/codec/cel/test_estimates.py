"""Estimated maximum costs of rules, compared with a table from the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairlead.base.release import V1_25, V1_36
from fairlead.codec.cel.declarations import FUNCTIONS
from fairlead.codec.cel.environment import environment
from fairlead.resources.custom.schema.markers import markers_of
from fairlead.resources.custom.schema.rule_types import declared
from fairlead.resources.custom.schema.rules import compiled_rule

Schema = dict[str, Any]
UNLIMITED = 2**64 - 1
TENTH = 1844674407370955264  # of what is unlimited, as a double has it


def text(maximum: int | None = None, form: str = "") -> Schema:
    """A string of at most so many characters, of a format."""
    limits = {"maxLength": maximum, "format": form or None}
    given = {name: value for name, value in limits.items() if value is not None}
    return {"type": "string"} | given


def items(of: Schema, maximum: int | None = None) -> Schema:
    return {"type": "array", "items": of} | ({"maxItems": maximum} if maximum is not None else {})


def entries(of: Schema, maximum: int | None = None) -> Schema:
    limit = {"maxProperties": maximum} if maximum is not None else {}
    return {"type": "object", "additionalProperties": of} | limit


def fields(**of: Schema) -> Schema:
    return {"type": "object", "properties": of}


INTEGER, NUMBER, BOOLEAN = {"type": "integer"}, {"type": "number"}, {"type": "boolean"}
EITHER = {"x-kubernetes-int-or-string": True}
PAIR = fields(foo=text(20), bar=text(1000), baz=fields(z=text(50)))
SCHEMAS: dict[str, Schema] = {
    "integer": INTEGER,
    "number": NUMBER,
    "boolean": BOOLEAN,
    "text": text(),
    "text10": text(10),
    "text0": text(0),
    "bytes20": text(20, "byte"),
    "bytes": text(None, "byte"),
    "duration": text(None, "duration"),
    "date": text(None, "date"),
    "moment": text(None, "date-time"),
    "either": EITHER,
    "integers": items(INTEGER),
    "integers10": items(INTEGER, 10),
    "booleans": items(BOOLEAN),
    "moments": items(text(None, "date-time")),
    "durations": items(text(None, "duration")),
    "words7": items(text(5), 7),
    "words": items(text(5)),
    "texts7": items(text(), 7),
    "bytes7": items(text(20, "byte"), 7),
    "eithers4": items(EITHER, 4),
    "matrix": items(items(INTEGER, 5), 4),
    "labels9": entries(text(3), 9),
    "labels": entries(text(3)),
    "names100": entries(text(), 100),
    "groups5": entries(items(text(4), 6), 5),
    "pairs3": items(PAIR, 3),
    "required": items(
        fields(name=text(5), size=INTEGER) | {"required": ["name", "size"]}
    ),
    "deep": fields(a=fields(b=fields(c=fields(d=items(PAIR, 3))))),
    "thing": fields(
        a=text(10), b=text(), n=INTEGER, f=NUMBER, t=BOOLEAN, any=EITHER,
        l=items(text(5), 7), m=entries(text(3), 9),
        d=text(None, "duration"), w=text(None, "date-time"), y=text(20, "byte"),
        o=fields(p=fields(q=items(PAIR, 3))),
    ),
}  # fmt: skip


def rows() -> list[tuple[str, str, str]]:
    """The rows of the table; a rule may have bars in it, but none alone between spaces."""
    lines = Path(__file__).with_name("estimates.txt").read_text().splitlines()
    results = []
    for line in lines:
        if line and not line.startswith("#"):
            schema, rule, estimate = line.split(" | ")
            results.append((schema, rule, estimate))
    return results


def number(estimate: str) -> int:
    if estimate == "unlimited":
        return UNLIMITED
    tenth, plus, rest = estimate.partition("tenth + ")
    return TENTH + int(rest) if plus else int(tenth)


@pytest.mark.parametrize(("schema", "rule", "estimate"), rows())
def test_a_rule_is_estimated_by_the_cost_model(schema: str, rule: str, estimate: str) -> None:
    of = declared(SCHEMAS[schema], markers_of("kubernetes"), is_object=False)
    assert of is not None
    assert compiled_rule(rule, of, environment(), {}).estimate().maximum == number(estimate)


def test_the_table_has_rows_of_every_function() -> None:
    rules = " ".join(rule for _, rule, _ in rows())
    operators = {name for name in FUNCTIONS if "_" in name or "@" in name}
    timestamps = {name for name in FUNCTIONS if name.startswith("get")}
    missing = [
        name for name in FUNCTIONS.keys() - operators - timestamps if f"{name}(" not in rules
    ]
    assert not missing
    assert len(rows()) >= 200


def test_an_enum_bounds_the_length_of_a_text_in_release_1_36() -> None:
    schema = {"type": "object", "properties": {"e": {"type": "string", "enum": ["a", "bb"]}}}
    costs = []
    for release in (V1_25, V1_36):
        of = declared(schema, markers_of("kubernetes", release), is_object=False)
        assert of is not None
        rule = compiled_rule("self.e.matches(self.e)", of, environment(release), {})
        costs.append(rule.estimate().maximum)
    assert costs[0] > 10**9
    assert costs[1] < 10
