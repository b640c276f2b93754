"""`allOf`, `anyOf`, `oneOf` and `not`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.base import meter
from fairlead.resources.custom.schema.markers import Schema, items_schema
from fairlead.resources.custom.schema.problems import INVALID, Check, Problem

Run = Callable[[Any], "list[Problem] | None"]
Tabled = Callable[[Schema], dict[type, "Check | None"]]

_JUNCTORS = ("anyOf", "oneOf", "allOf", "not")


def checks(schema: Schema, table_of: Tabled) -> list[Check]:
    """The checks of these keywords in a schema, in the reference's order."""
    if schema.keys().isdisjoint(_JUNCTORS):
        return []

    def runs(schemas: list[Schema]) -> list[Run]:
        return [_runner(table_of(schema)) for schema in schemas]

    result: list[Check] = []
    if schema.get("anyOf"):
        result.append(_any_of(schema["anyOf"], runs(schema["anyOf"])))
    if schema.get("oneOf"):
        result.append(_one_of(schema["oneOf"], runs(schema["oneOf"])))
    if schema.get("allOf"):
        result.append(_all_of(runs(schema["allOf"])))
    if schema.get("not") is not None:
        result.append(_none_of(runs([schema["not"]])[0]))
    return result


def _runner(table: dict[type, Check | None]) -> Run:
    def run(value: Any) -> list[Problem] | None:
        meter.spend()
        check = table.get(value.__class__)
        problems = check(value) if check is not None else None
        for problem in problems or ():
            problem.inside = len(problem.steps)
        return problems

    return run


def _problem(text: str) -> Problem:
    return Problem(INVALID, lambda path: f'Invalid value: "": "{path}" {text}', placed=False)


def _any_of(schemas: list[Schema], runs: list[Run]) -> Check:
    def check(value: Any) -> list[Problem] | None:
        failures: list[list[Problem]] = []
        for run in runs:
            problems = run(value)
            if not problems:
                return None
            failures.append(problems)
        problem = _problem("must validate at least one schema (anyOf)")
        return [problem, *_closest(schemas, failures, value)]

    return check


def _one_of(schemas: list[Schema], runs: list[Run]) -> Check:
    def check(value: Any) -> list[Problem] | None:
        results = [run(value) for run in runs]
        valid = sum(1 for problems in results if not problems)
        if valid == 1:
            return None
        how = f"Found {valid} valid alternatives" if valid else "Found none valid"
        problem = _problem(f"must validate one and only one schema (oneOf). {how}")
        if valid:
            return [problem]
        return [problem, *_closest(schemas, [problems or [] for problems in results], value)]

    return check


def _all_of(runs: list[Run]) -> Check:
    def check(value: Any) -> list[Problem] | None:
        results = [problems for run in runs if (problems := run(value))]
        if not results:
            return None
        none = ". None validated" if len(results) == len(runs) else ""
        collected = [problem for problems in results for problem in problems]
        return [*collected, _problem(f"must validate all the schemas (allOf){none}")]

    return check


def _none_of(run: Run) -> Check:
    return lambda value: None if run(value) else [_problem("must not validate the schema (not)")]


def _closest(schemas: list[Schema], failures: list[list[Problem]], value: Any) -> list[Problem]:
    """The problems of the schema that came closest: the first with the most comparisons."""
    looks = [_count_comparisons(schema, value) for schema in schemas]
    return failures[looks.index(max(looks))]


def _count_comparisons(schema: Schema, value: Any) -> int:
    """The number of comparisons that a schema makes on a value, counted as the reference does."""
    meter.spend()
    count = 4 + (2 if schema.get("type") or schema.get("format") else 0)
    if isinstance(value, (str, list, dict)) or value.__class__ in (int, float):
        count += 1
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        count += sum(
            _count_comparisons(properties[key], value[key]) for key in value if key in properties
        )
    items = items_schema(schema)
    if isinstance(value, list) and items is not None:
        count += sum(_count_comparisons(items, item) for item in value)
    return count
