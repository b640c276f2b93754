"""What can be wrong with an expression, when it is read and when it is evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MOST_SHOWN = 30
_LONGEST_LINE = 16384


class Problem(NamedTuple):
    """One thing wrong at a place of the text; a place below 0 is the text as a whole."""

    place: int
    message: str


class CompileError(Exception):
    """An expression that cannot be used; its text is the answer to whoever wrote it."""

    def __init__(self, text: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first = sorted(problems)[:MOST_SHOWN]
        shown = "\n".join(_display(text, problem) for problem in first)
        super().__init__(f"compilation failed: {shown}")


class SyntaxProblem(CompileError):
    """The text is not an expression."""


class TypeProblem(CompileError):
    """The expression refers to what is not there or mixes types that do not go together."""


class ResultProblem(Exception):
    """An expression of another type than was wanted."""


class ConstantProblem(Exception):
    """A constant that can be seen to fail: a regular expression, a conversion."""

    def __init__(self, message: str) -> None:
        super().__init__(f"program instantiation failed: {message}")


class EvaluationError(Exception):
    """An evaluation has no result; `cost` is what it cost until then."""

    cost = 0


class CostExceeded(Exception):
    """An evaluation was given up because it had cost more than its budget."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload() -> EvaluationError:
    return EvaluationError("no such overload")


def _display(text: str, problem: Problem) -> str:
    place, message = problem
    if place < 0:
        return f"ERROR: <input>:-1:0: {message}"
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line = text[start : end if end >= 0 else len(text)].replace("\t", " ")
    column = place - start
    number = text.count("\n", 0, start) + 1
    header = f"ERROR: <input>:{number}:{column + 1}: {message}"
    if len(line) > _LONGEST_LINE or (start == len(text) and start > 0):
        return header
    dots = "".join("\uff0e" if ord(mark) > 0x7F else "." for mark in line[:column])
    wide = column < len(line) and ord(line[column]) > 0x7F
    return f"{header}\n | {line}\n | {dots}{chr(0xFF3E) if wide else '^'}"
