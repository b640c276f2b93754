"""Errors of expressions, at compilation and at evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MAX_SHOWN = 30
_MAX_LINE_LENGTH = 16384


class Problem(NamedTuple):
    """One error at an offset of the text; an offset below 0 means the text as a whole."""

    place: int
    message: str


class CompileError(Exception):
    """An expression that does not compile; `str()` is the message for its author."""

    def __init__(self, text: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first = sorted(problems)[:MAX_SHOWN]
        shown = "\n".join(_display(text, problem) for problem in first)
        super().__init__(f"compilation failed: {shown}")


class SyntaxProblem(CompileError):
    """The text is not an expression."""


class TypeProblem(CompileError):
    """The expression refers to undeclared names or mixes incompatible types."""


class ResultProblem(Exception):
    """An expression whose result has another type than the requested one."""


class ConstantProblem(Exception):
    """A constant that always fails: a regular expression, a conversion."""

    def __init__(self, message: str) -> None:
        super().__init__(f"program instantiation failed: {message}")


class EvaluationError(Exception):
    """A failed evaluation; `cost` is its cost up to the failure."""

    cost = 0


class CostExceeded(Exception):
    """An evaluation that was stopped because its cost exceeded the budget."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload() -> EvaluationError:
    return EvaluationError("no such overload")


def _display(text: str, problem: Problem) -> str:
    position, message = problem
    if not text:
        return f"ERROR: <input>:1:0: {message}"
    if position < 0:
        return f"ERROR: <input>:-1:0: {message}"
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)].replace("\t", " ")
    column = position - start
    number = text.count("\n", 0, start) + 1
    header = f"ERROR: <input>:{number}:{column + 1}: {message}"
    if len(line) > _MAX_LINE_LENGTH or (start == len(text) and start > 0):
        return header
    dots = "".join("\uff0e" if ord(mark) > 0x7F else "." for mark in line[:column])
    wide = column < len(line) and ord(line[column]) > 0x7F
    return f"{header}\n | {line}\n | {dots}{chr(0xFF3E) if wide else '^'}"
