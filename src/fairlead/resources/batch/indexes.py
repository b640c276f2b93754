"""Lists of the indexes of a Job, written as intervals (`0,2-5`), and the success policy, which uses
them."""

from __future__ import annotations

import re

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, quote
from fairlead.resources.rules import bounded_int, non_negative

MAX_INDEXES_LENGTH = 64 * 1024
MAX_RULES = 20
_INTEGER = re.compile(r"\A[+-]?[0-9]+\Z", re.ASCII)


class IndexesError(ValueError):
    """A text that is not a list of indexes in ascending order."""


def parse_intervals(text: str, completions: int) -> list[tuple[int, int]]:
    """The first and last index of each interval; raises IndexesError."""
    intervals: list[tuple[int, int]] = []
    if not text:
        return intervals
    for part in text.split(","):
        first, last = _interval(part, completions)
        if intervals and intervals[-1][1] >= first:
            raise IndexesError(_not_increasing(intervals[-1][1], first))
        intervals.append((first, last))
    return intervals


def _interval(part: str, completions: int) -> tuple[int, int]:
    bounds = part.split("-")
    if len(bounds) > 2:
        raise IndexesError(
            f"the fragment {quote(part)} violates the requirement that an index interval can have"
            " at most two parts separated by '-'"
        )
    first = _index(bounds[0], completions)
    if len(bounds) == 1:
        return first, first
    last = _index(bounds[1], completions)
    if first >= last:
        raise IndexesError(_not_increasing(first, last))
    return first, last


def _index(text: str, completions: int) -> int:
    if not _INTEGER.match(text):
        raise IndexesError(f"cannot convert string to integer for index: {quote(text)}")
    index = bounded_int(text)
    if not -(2**63) <= index < 2**63:
        raise IndexesError(f"cannot convert string to integer for index: {quote(text)}")
    if index >= completions:
        raise IndexesError(f"too large index: {quote(text)}")
    return index


def _not_increasing(before: int, after: int) -> str:
    return f"non-increasing order, previous: {before}, current: {after}"


def overlap(text: str, other: str, completions: int) -> int | None:
    """The first index in both lists; None if there is none, or a list is invalid."""
    try:
        intervals = parse_intervals(text, completions)
        others = parse_intervals(other, completions)
    except IndexesError:
        return None
    at = 0
    for first, last in intervals:
        while at < len(others) and others[at][1] < first:
            at += 1
        if at < len(others) and others[at][0] <= last:
            return max(first, others[at][0])
    return None


def count_of(intervals: list[tuple[int, int]]) -> int:
    return sum(last - first + 1 for first, last in intervals)


def check_success_policy(spec: Object, path: str, causes: Causes) -> None:
    """Check the success policy in the spec of an indexed Job; `path` is that of the policy."""
    rules: list[Object] = spec["successPolicy"].get("rules") or []
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        causes.required(f"{path}.rules", detail)
    if len(rules) > MAX_RULES:
        causes.too_many(f"{path}.rules", len(rules), MAX_RULES)
    completions: int = spec.get("completions") or 0
    for index, rule in enumerate(rules):
        _check_rule(rule, completions, f"{path}.rules[{index}]", causes)


def _check_rule(rule: Object, completions: int, path: str, causes: Causes) -> None:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        detail = "at least one of succeededCount or succeededIndexes must be specified"
        causes.required(path, detail)
    total = 0
    if indexes is not None:
        if len(indexes) > MAX_INDEXES_LENGTH:
            causes.too_long(f"{path}.succeededIndexes", MAX_INDEXES_LENGTH)
        try:
            total = count_of(parse_intervals(indexes, completions))
        except IndexesError as error:
            detail = f"error parsing succeededIndexes: {error}"
            causes.invalid(f"{path}.succeededIndexes", indexes, detail)
    if count is None:
        return
    path = f"{path}.succeededCount"
    non_negative(count, path, causes)
    if count > completions:
        detail = (
            f"must be less than or equal to {completions} (the number of specified completions)"
        )
        causes.invalid(path, count, detail)
    if indexes is not None and count > total:
        detail = (
            f"must be less than or equal to {total} (the number of indexes in the specified"
            " succeededIndexes field)"
        )
        causes.invalid(path, count, detail)
