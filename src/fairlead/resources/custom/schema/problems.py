"""What is wrong with a value, and where: put into words only when it is told.

A check gives the problems it found, or None. Each knows the way to its place from the value that
was checked; whoever checks a part of a value adds the step to it. So a good value pays nothing for
paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

MOST = 1000  # problems of one value; more are not told

Check = Callable[[Any], "list[Problem] | None"]

INVALID = "FieldValueInvalid"
TYPE = "FieldValueTypeInvalid"
REQUIRED = "FieldValueRequired"
UNSUPPORTED = "FieldValueNotSupported"
DUPLICATE = "FieldValueDuplicate"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"


class Found(Protocol):
    """A cause that was told."""

    @property
    def reason(self) -> str: ...


class Causes(Protocol):
    """Where problems are told; may raise when there are enough of them."""

    def add(self, reason: str, field: str, text: str) -> None: ...

    def __iter__(self) -> Iterator[Found]: ...


class Problem:
    """`text` makes the words from the path of the value. One that is not `placed` is told of the
    whole object."""

    __slots__ = ("placed", "reason", "steps", "text")

    def __init__(self, reason: str, text: Callable[[str], str], placed: bool = True) -> None:
        self.reason = reason
        self.text = text
        self.placed = placed
        self.steps: list[str] = []


def invalid(shown: str, detail: str) -> list[Problem]:
    """A value that is not as it should be, in the same words wherever it stands."""
    return [Problem(INVALID, lambda _: f"Invalid value: {shown}: {detail}")]


def at(problems: list[Problem], step: str) -> list[Problem]:
    """The problems of a part: `step` leads to it, `.name` or `[0]`."""
    for problem in problems:
        problem.steps.append(step)
    return problems


def report(problems: list[Problem] | None, causes: Causes, base: str = "") -> None:
    """Tell problems; `base` is the path of the value that was checked."""
    for problem in problems or ():
        path = "".join(reversed(problem.steps)).removeprefix(".")
        field = f"{base}.{path}" if base and path and problem.placed else base
        if not base:
            field = path if path and problem.placed else "<nil>"
        causes.add(problem.reason, field, problem.text(path))
