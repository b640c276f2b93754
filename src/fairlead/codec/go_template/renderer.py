"""Renders Go templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fairlead.base import meter
from fairlead.codec.go_template.parts import (
    Block,
    Body,
    Call,
    Dot,
    Fields,
    Function,
    Leave,
    Literal,
    Operand,
    Pipeline,
    Variable,
)
from fairlead.codec.go_template.values import (
    MAX_SIZE,
    TemplateError,
    is_true,
    shown,
)

MAX_STEPS = 50_000
_MAX_DEPTH = 60  # templates that call each other
_SIZE_OF_STEP = 50  # characters or items that a function handles in a step

Functions = Mapping[str, Callable[..., Any]]


class _Left(Exception):
    """`break` or `continue` was reached."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class Limits(NamedTuple):
    """The limits of one rendering."""

    steps: int = MAX_STEPS
    size: int = MAX_SIZE  # characters of the output


def render(
    template: Body,
    value: Any,
    functions: Functions,
    limits: Limits | None = None,
    *,
    strict: bool = False,
) -> str:
    """The text of a template for a value; raises TemplateError, if `strict` also for a field that
    is missing."""
    rendering = _Rendering(value, functions, limits or Limits(), strict)
    try:
        rendering.write(template, value)
    except RecursionError:
        raise TemplateError("the template is nested too deeply") from None
    return "".join(rendering.output)


class _Rendering:
    """The state of one rendering: variables by scope, the output, and the remaining limits."""

    def __init__(self, value: Any, functions: Functions, limits: Limits, strict: bool) -> None:
        self._limits = limits
        self._strict = strict
        self._depth = 0
        self.output: list[str] = []
        self._functions = functions
        self._scopes: list[dict[str, Any]] = [{"$": value}]
        self._steps = limits.steps
        self._room = limits.size

    def write(self, body: Body, dot: Any) -> None:
        for part in body:
            self._spend()
            if isinstance(part, str):
                self._put(part)
            elif isinstance(part, Block):
                self._scopes.append({})
                try:
                    self._block(part, dot)
                finally:
                    self._scopes.pop()
            elif isinstance(part, Leave):
                raise _Left(part.word)
            elif isinstance(part, Call):
                self._template(part, dot)
            else:
                value = self._value(part, dot)
                if not part.variables:
                    self._put(shown(value))

    def _spend(self) -> None:
        meter.spend()
        self._steps -= 1
        if self._steps < 0:
            raise TemplateError(f"the template takes more than {self._limits.steps} steps")

    def _put(self, text: str) -> None:
        self._room -= len(text)
        if self._room < 0:
            raise TemplateError(f"the template writes more than {self._limits.size} characters")
        self.output.append(text)

    def _block(self, block: Block, dot: Any) -> None:
        if block.word == "range":
            self._range(block, dot)
            return
        value = self._value(block.pipeline, dot)
        inner = value if block.word == "with" else dot
        if is_true(value):
            self.write(block.body, inner)
        else:
            self.write(block.otherwise, dot)

    def _template(self, call: Call, dot: Any) -> None:
        """Write another template, which sees only the value that it is given."""
        if call.name not in call.templates:
            raise TemplateError(f'the template "{call.name}" is not defined')
        if self._depth == _MAX_DEPTH:
            raise TemplateError("the template is nested too deeply")
        value = self._value(call.pipeline, dot) if call.pipeline is not None else None
        scopes, self._scopes = self._scopes, [{"$": value}]
        self._depth += 1
        self.write(call.templates[call.name], value)
        self._depth -= 1
        self._scopes = scopes

    def _range(self, block: Block, dot: Any) -> None:
        entries = _entries(self._value(block.pipeline, dot, assigns=False))
        if not entries:
            self.write(block.otherwise, dot)
        for key, item in entries:
            self._spend()
            self._assign(
                block.pipeline, (key, item) if len(block.pipeline.variables) > 1 else (item,)
            )
            self._scopes.append({})
            try:
                self.write(block.body, item)
            except _Left as left:
                if left.word == "break":
                    break
            finally:
                self._scopes.pop()

    def _assign(self, pipeline: Pipeline, values: tuple[Any, ...]) -> None:
        for name, value in zip(pipeline.variables, values, strict=False):
            if pipeline.declares:
                self._scopes[-1][name] = value
            else:
                next(scope for scope in reversed(self._scopes) if name in scope)[name] = value

    def _value(self, pipeline: Pipeline, dot: Any, *, assigns: bool = True) -> Any:
        value: Any = None
        for number, command in enumerate(pipeline.commands):
            value = self._command(command, dot, (value,) if number else ())
        if assigns and pipeline.variables:
            self._assign(pipeline, (value,))
        return value

    def _command(self, command: tuple[Operand, ...], dot: Any, piped: tuple[Any, ...]) -> Any:
        self._spend()
        first, *rest = command
        if isinstance(first, Function):
            if first.name in ("and", "or"):
                return self._logical(first.name == "or", rest, dot, piped)
            arguments = [self._operand(operand, dot) for operand in rest]
            return self._call(first.name, *arguments, *piped)
        if piped:
            raise TemplateError("a value that is not a function has no argument")
        return self._operand(first, dot)

    def _logical(
        self, stops_at: bool, operands: list[Operand], dot: Any, piped: tuple[Any, ...]
    ) -> Any:
        """`and`, `or`: the first argument that decides, or the last one."""
        value: Any = None
        for operand in operands:
            value = self._operand(operand, dot)
            if is_true(value) == stops_at:
                return value
        return piped[0] if piped else value

    def _call(self, name: str, *arguments: Any) -> Any:
        meter.spend(1 + sum(map(_size, arguments)) // _SIZE_OF_STEP)
        try:
            return self._functions[name](*arguments)
        except TemplateError as error:
            raise TemplateError(f"{name}: {error}") from None
        except (TypeError, AttributeError):
            raise TemplateError(f"{name}: wrong number or type of arguments") from None
        except (ValueError, ArithmeticError, LookupError) as error:
            raise TemplateError(f"{name}: {error}") from None

    def _operand(self, operand: Operand, dot: Any) -> Any:
        match operand:
            case Literal():
                return operand.value
            case Dot():
                return dot
            case Variable():
                return next(
                    scope[operand.name] for scope in reversed(self._scopes) if operand.name in scope
                )
            case Fields():
                return self._field(self._operand(operand.of, dot), operand.names)
            case Pipeline():
                return self._value(operand, dot)
            case Function():
                return self._call(operand.name)

    def _field(self, value: Any, names: tuple[str, ...]) -> Any:
        """The value at nested fields; None for a field of a missing value, which is no error."""
        for name in names:
            if value is not None and not isinstance(value, dict):
                raise TemplateError(f"{shown(value)[:40]} has no field {name}")
            if self._strict and name not in (value or {}):
                raise TemplateError(f"there is no field {name}")
            value = value.get(name) if value is not None else None
        return value


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | list | dict) else 1


def _entries(value: Any) -> list[tuple[Any, Any]]:
    if value is None:
        return []
    if isinstance(value, dict):
        return sorted(value.items())
    if isinstance(value, list):
        return list(enumerate(value))
    if isinstance(value, int) and not isinstance(value, bool) and value <= MAX_STEPS:
        return [(number, number) for number in range(value)]
    raise TemplateError(f"range over {shown(value)[:40]} is not possible")
