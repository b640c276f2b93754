"""Arithmetic of the shell, `$((...))`: signed 64 bits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import islice

_TOKEN = re.compile(
    r"\s*(?:([0-9]+)|\$?([A-Za-z_]\w*)|(\*\*|<<|>>|<=|>=|==|!=|&&|\|\||.))", re.ASCII
)
_MAX_TOKENS = 1000
_MAX_DEPTH = 50

# By strength, the weakest first.
_OPERATORS: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a or b))},
    {"&&": lambda a, b: int(bool(a and b))},
    {"|": lambda a, b: a | b},
    {"^": lambda a, b: a ^ b},
    {"&": lambda a, b: a & b},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<": lambda a, b: int(a < b),
        "<=": lambda a, b: int(a <= b),
        ">": lambda a, b: int(a > b),
        ">=": lambda a, b: int(a >= b),
    },
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {
        "*": lambda a, b: a * b,
        "/": lambda a, b: _divided(a, b)[0],
        "%": lambda a, b: _divided(a, b)[1],
    },
)


def evaluate(text: str, variables: Mapping[str, str]) -> int:
    """Raises ValueError."""
    found = (match for match in _TOKEN.finditer(text) if match[0].strip())
    tokens = list(islice(found, _MAX_TOKENS + 1))
    if len(tokens) > _MAX_TOKENS:
        raise ValueError("expression too long")
    if not tokens:
        return 0
    parser = _Parser(tokens, variables)
    value = parser.value(0)
    if parser.at < len(tokens):
        raise parser.unexpected()
    return value


def _divided(a: int, b: int) -> tuple[int, int]:
    """Quotient and remainder, towards zero."""
    if b == 0:
        raise ValueError("divide by zero")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


def _wrapped(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _number(text: str) -> int:
    """The value of a variable; anything but a number counts as 0."""
    text = text.strip()
    return _wrapped(int(text)) if re.fullmatch(r"-?[0-9]{1,19}", text, re.ASCII) else 0


class _Parser:
    def __init__(self, tokens: list[re.Match[str]], variables: Mapping[str, str]) -> None:
        self.at = 0
        self._tokens = tokens
        self._variables = variables
        self._depth = 0

    def unexpected(self) -> ValueError:
        if self.at >= len(self._tokens):
            return ValueError("unexpected end of expression")
        return ValueError(f'unexpected "{self._tokens[self.at][0].strip()}"')

    def _sign(self) -> str:
        return self._tokens[self.at][3] or "" if self.at < len(self._tokens) else ""

    def value(self, level: int) -> int:
        if level == len(_OPERATORS):
            return self._operand()
        left = self.value(level + 1)
        while (operator := _OPERATORS[level].get(self._sign())) is not None:
            self.at += 1
            left = _wrapped(operator(left, self.value(level + 1)))
        return left

    def _operand(self) -> int:
        if self.at >= len(self._tokens):
            raise self.unexpected()
        number, name, sign = self._tokens[self.at].groups()
        self.at += 1
        if number is not None:
            return _wrapped(int(number[:20]))
        if name is not None:
            return _number(self._variables.get(name, ""))
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError("nested too deeply")
        try:
            return self._signed(sign)
        finally:
            self._depth -= 1

    def _signed(self, sign: str) -> int:
        if sign == "-":
            return _wrapped(-self._operand())
        if sign == "+":
            return self._operand()
        if sign == "!":
            return int(not self._operand())
        if sign == "(":
            inner = self.value(0)
            if self._sign() == ")":
                self.at += 1
                return inner
        else:
            self.at -= 1
        raise self.unexpected()
