"""Hostile schemas and objects."""

from __future__ import annotations

import asyncio
from time import process_time
from typing import Any

import pytest
from support.custom_schemas import compiled, decoded, errors_of, of_field, of_spec, widget
from support.pace import in_time

from fairlead.base import budget
from fairlead.base.errors import TooManyCauses
from fairlead.codec.types.decode import decoder
from fairlead.resources.causes import Causes

KEEP = {"x-kubernetes-preserve-unknown-fields": True}


def nested(depth: int, leaf: Any, holder: Any) -> Any:
    for _ in range(depth):
        leaf = holder(leaf)
    return leaf


def large(lines: int) -> dict[str, Any]:
    """A schema of about so many lines of YAML."""
    leaf = {"type": "string", "description": "text", "maxLength": 20, "pattern": "^[a-z]+$"}
    group = {"type": "object", "properties": {f"p{i}": leaf for i in range(20)}}
    groups = {f"g{i}": group for i in range(lines // 103)}
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": groups}}}


def test_a_pattern_that_explodes_elsewhere_takes_time_in_proportion() -> None:
    schema = of_field({"type": "string", "pattern": "^(a+)+$"})
    started = process_time()
    assert len(errors_of(schema, {"f": "a" * 100_000 + "!"})) == 1
    assert errors_of(schema, {"f": "a" * 100_000}) == []
    assert in_time(process_time() - started, 1)


def test_schemas_forty_levels_deep_are_followed() -> None:
    def inside(leaf: Any) -> Any:
        return {"type": "object", "properties": {"a": leaf}}

    schema = of_spec(nested(40, {"type": "integer", "default": 1}, inside))
    spec = nested(39, {}, lambda leaf: {"a": leaf})
    assert decoded(schema, spec) == nested(40, 1, lambda leaf: {"a": leaf})
    wrong = errors_of(schema, nested(40, "x", lambda leaf: {"a": leaf}))
    assert [field for field, _, _ in wrong] == ["spec" + ".a" * 40]


def test_a_default_that_looks_like_its_own_schema_is_filled_in_once() -> None:
    inner = {
        "type": "object",
        "default": {},
        "properties": {"a": {"type": "string", "default": "x"}},
    }
    outer = {"type": "object", "default": {"b": {}}, "properties": {"b": inner}}
    assert decoded(of_field(outer), {}) == {"f": {"b": {"a": "x"}}}


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, -(2**63), 1e308, -1e308, 5e-324])
@pytest.mark.parametrize(
    "limits",
    [{"multipleOf": 0.5}, {"multipleOf": 5e-324}, {"multipleOf": 1e308}, {"minimum": 1e308}],
)
def test_enormous_numbers_are_judged(number: float, limits: dict[str, Any]) -> None:
    for kind in ("number", "integer"):
        assert isinstance(errors_of(of_field({"type": kind, **limits}), {"f": number}), list)


@pytest.mark.parametrize("factor", [0, -1, -0.5])
def test_nothing_is_a_multiple_of_what_has_no_multiples(factor: float) -> None:
    assert len(errors_of(of_field({"type": "integer", "multipleOf": factor}), {"f": 3})) == 1


def test_a_hundred_thousand_wrong_items_are_told_in_part() -> None:
    schema = of_field({"type": "array", "items": {"type": "string"}})
    started = process_time()
    with pytest.raises(TooManyCauses):
        errors_of(schema, {"f": [1] * 100_000})
    assert in_time(process_time() - started, 1)


def test_a_hundred_thousand_repeated_items_take_time_in_proportion() -> None:
    items = {"type": "array", "items": KEEP, "x-kubernetes-list-type": "set"}
    started = process_time()
    assert len(errors_of(of_field(items), {"f": [{"a": 1}] * 100_000})) == 1
    assert in_time(process_time() - started, 3)


def test_thousands_of_properties_are_looked_at_in_proportion() -> None:
    fields = {f"p{i}": {"type": "integer", "minimum": 0} for i in range(5000)}
    schema = of_spec({"type": "object", "properties": fields})
    spec = dict.fromkeys(fields, 1)
    decoded(schema, spec)
    started = process_time()
    assert errors_of(schema, spec) == []
    assert in_time(process_time() - started, 0.5)


def test_conditions_that_multiply_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.base.meter.THREAD_SECONDS", 1.0)
    conditions = [{"minimum": number} for number in range(-3000, 0)]
    items = {"type": "integer", "allOf": conditions}
    schema = of_field({"type": "array", "items": items})
    started = process_time()
    value = {"f": list(range(100_000))}
    ((field, _, text),) = asyncio.run(budget.run(0, errors_of, schema, value))
    assert field == "<nil>"
    assert "takes too long to check" in text
    assert in_time(process_time() - started, 3)


def test_names_that_are_all_missing_are_told_in_part() -> None:
    needs = {"type": "object", "required": [f"n{i}" for i in range(100_000)]}
    schema = of_field({"type": "array", "items": {"type": "object", "not": needs}})
    started = process_time()
    assert errors_of(schema, {"f": [{}] * 100}) == []
    assert in_time(process_time() - started, 2)


def _compiling(schema: dict[str, Any]) -> float:
    """Seconds that it takes until a first object was looked at."""
    started = process_time()
    program = compiled(schema)
    value = decoder(program.struct)(widget({}), [])
    program.fill_defaults(value)
    program.validate(value, None, Causes())
    program.check_rules(value, None, Causes())
    return process_time() - started


def test_ten_thousand_lines_compile_in_a_tenth_of_a_second() -> None:
    """Thrice that is allowed where others are at work too."""
    schema = large(10_000)
    assert min(_compiling(schema) for _ in range(5)) < 0.3


def test_a_schema_that_nobody_used_is_kept_packed() -> None:
    program = compiled(large(1000))
    assert set(vars(program)).isdisjoint(("struct", "_check", "_filler", "_rules"))
