"""Macros: they look like calls, but a name among their arguments is not evaluated."""

from __future__ import annotations

from fairlead.codec.cel.syntax import Call, ListOf, Loop, Name, Node, OptionalMap, Select, SortBy

_LOOPS = frozenset(
    (("all", 3), ("exists", 3), ("exists_one", 3), ("filter", 3), ("map", 3), ("map", 4))
)
_PAIR_LOOPS = frozenset(
    (
        *(("all", 4), ("exists", 4), ("exists_one", 4), ("existsOne", 4)),
        *((f"transform{of}", count) for of in ("List", "Map", "MapEntry") for count in (4, 5)),
    )
)
_OPTIONAL_MAPS = ("optMap", "optFlatMap")
_ACCUMULATOR = "__result__"
_NO_SIMPLE_NAME = "argument must be a simple name"
_SORTED = ListOf, Name, Select, Loop, Call, OptionalMap, SortBy


class MacroError(ValueError):
    """A malformed macro."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.place = position


class Macros:
    """The macros of a language with certain rules."""

    def __init__(self, rules: frozenset[str]) -> None:
        self._is_revised = "revised" in rules
        self._has_optionals = "optionals" in rules
        self._pair_loops = _PAIR_LOOPS if "pairs" in rules else frozenset()
        self._has_sorting = "sequences" in rules

    def expand(self, call: Call) -> Node:
        """The macro that a call denotes, or the call itself."""
        function, count = call.function, len(call.arguments)
        if not call.method:
            return self._has(call) if function == "has" and count == 1 else call
        if (function, count) in _LOOPS:
            return _loop(call)
        if (function, count) in self._pair_loops:
            return _pair_loop(call)
        if self._has_optionals and function in _OPTIONAL_MAPS and count == 3:
            return _optional_map(call)
        if self._has_sorting and (function, count) == ("sortBy", 3):
            return _sort_by(call)
        return call

    def _has(self, call: Call) -> Node:
        argument = call.arguments[0]
        if not isinstance(argument, Select) or argument.test:
            position = argument.place if self._is_revised else call.place
            raise MacroError(position, "invalid argument to has() macro")
        return Select(call.place, argument.operand, argument.field, test=True)


def _variable(node: Node, message: str) -> str:
    if not isinstance(node, Name):
        raise MacroError(node.place, message)
    if node.name == _ACCUMULATOR:
        raise MacroError(node.place, "iteration variable overwrites accumulator variable")
    return node.name


def _loop(call: Call) -> Loop:
    over, variable, *rest = call.arguments
    macro = call.function
    collects = macro in ("map", "filter", "sortBy")
    name = _variable(variable, "argument is not an identifier" if collects else _NO_SIMPLE_NAME)
    transform = rest.pop() if macro in ("map", "sortBy") else None
    condition = rest[0] if rest else None
    return Loop(call.place, macro, over, name, condition, transform)


def _pair_loop(call: Call) -> Loop:
    over, first, second, *rest = call.arguments
    names = [_variable(first, _NO_SIMPLE_NAME), _variable(second, _NO_SIMPLE_NAME)]
    if names[0] == names[1]:
        raise MacroError(second.place, f"duplicate variable name: {names[0]}")
    macro = "exists_one" if call.function == "existsOne" else call.function
    transform = rest.pop() if macro.startswith("transform") else None
    condition = rest[0] if rest else None
    return Loop(call.place, macro, over, names[0], condition, transform, names[1])


def _optional_map(call: Call) -> Node:
    target, variable, body = call.arguments
    if not isinstance(variable, Name):
        message = f"{call.function}() variable name must be a simple identifier"
        raise MacroError(variable.place, message)
    is_flat = call.function == "optFlatMap"
    return OptionalMap(call.place, target, variable.name, body, is_flat)


def _sort_by(call: Call) -> Node:
    target = call.arguments[0]
    if not isinstance(target, _SORTED):
        message = (
            "sortBy can only be applied to a list, identifier, comprehension, call or select"
            " expression"
        )
        raise MacroError(target.place, message)
    loop = _loop(call)
    loop.macro = "map"
    return SortBy(call.place, target, loop)
