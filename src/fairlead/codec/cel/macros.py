"""Macros: calls that are not calls, because a name in them is not evaluated."""

from __future__ import annotations

from fairlead.codec.cel.syntax import Call, Loop, Name, Node, Select

_LOOPS = {("all", 3), ("exists", 3), ("exists_one", 3), ("filter", 3), ("map", 3), ("map", 4)}
_ACCUMULATOR = "__result__"


class MacroError(ValueError):
    """A macro that is not written as it must be."""

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


def expand(call: Call) -> Node:
    """The macro that a call stands for, or the call itself."""
    if not call.method:
        return _has(call) if call.function == "has" and len(call.arguments) == 1 else call
    if (call.function, len(call.arguments)) not in _LOOPS:
        return call
    over, variable, *rest = call.arguments
    if not isinstance(variable, Name):
        collects = call.function in ("map", "filter")
        raise MacroError(
            variable.place,
            "argument is not an identifier" if collects else "argument must be a simple name",
        )
    if variable.name == _ACCUMULATOR:
        raise MacroError(variable.place, "iteration variable overwrites accumulator variable")
    transform = rest.pop() if call.function == "map" else None
    condition = rest[0] if rest else None
    return Loop(call.place, call.function, over, variable.name, condition, transform)


def _has(call: Call) -> Node:
    argument = call.arguments[0]
    if not isinstance(argument, Select) or argument.test:
        raise MacroError(call.place, "invalid argument to has() macro")
    return Select(call.place, argument.operand, argument.field, test=True)
