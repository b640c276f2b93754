"""Problems of values: their messages and paths are built only when they are reported.

A check returns the problems that it found, or None. A problem holds the steps from the checked
value to its place; a check that calls the check of a part adds the step to that part. So no path is
built for a valid value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

MAX_PROBLEMS = 1000  # problems of one value; further problems are dropped

Check = Callable[[Any], "list[Problem] | None"]

INVALID = "FieldValueInvalid"
TYPE = "FieldValueTypeInvalid"
REQUIRED = "FieldValueRequired"
UNSUPPORTED = "FieldValueNotSupported"
DUPLICATE = "FieldValueDuplicate"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"


class ReportedCause(Protocol):
    """A reported cause."""

    @property
    def reason(self) -> str: ...


class Causes(Protocol):
    """Receives the reported problems; may raise when there are too many."""

    def add(self, reason: str, field: str, text: str, detail: str = "") -> None: ...

    def __iter__(self) -> Iterator[ReportedCause]: ...


class Problem:
    """`text` makes the message from the path of the value. A problem that is not `placed` is
    reported on the whole object. The first `inside` steps are inside of `allOf` and the like."""

    __slots__ = ("inside", "placed", "reason", "steps", "text")

    def __init__(self, reason: str, text: Callable[[str], str], placed: bool = True) -> None:
        self.reason = reason
        self.text = text
        self.placed = placed
        self.steps: list[str] = []
        self.inside = 0


def invalid(shown: str, detail: str) -> list[Problem]:
    """A value with an error whose message does not depend on the path."""
    return [Problem(INVALID, lambda _: f"Invalid value: {shown}: {detail}")]


def at(problems: list[Problem], step: str) -> list[Problem]:
    """Add a step, `.name` or `[0]`, to the problems of a part."""
    for problem in problems:
        problem.steps.append(step)
    return problems


def report(problems: list[Problem] | None, causes: Causes, base: str = "") -> None:
    """Add problems to the causes; `base` is the path of the checked value."""
    for problem in problems or ():
        path = "".join(reversed(problem.steps)).removeprefix(".")
        field = f"{base}.{path}" if base and path and problem.placed else base
        if not base:
            field = path if path and problem.placed else "<nil>"
        causes.add(problem.reason, field, problem.text(path))
