"""Parses tokens to a tree: explicit stacks for precedence, one recursion per bracket level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.codec.cel import literals
from fairlead.codec.cel.errors import Problem, SyntaxProblem
from fairlead.codec.cel.lexer import END, Token, tokens
from fairlead.codec.cel.syntax import (
    Call,
    ListOf,
    Literal,
    Logic,
    Loop,
    MapOf,
    Message,
    Name,
    Node,
    Select,
)

MAX_LENGTH = 100_000  # code points
MAX_DEPTH = 250
TOO_DEEP = f"expression recursion limit exceeded: {MAX_DEPTH}"
_BINARY = {
    "||": 1, "&&": 2,
    "<": 3, "<=": 3, ">=": 3, ">": 3, "==": 3, "!=": 3, "in": 3,
    "+": 4, "-": 4, "*": 5, "/": 5, "%": 5,
}  # fmt: skip
_FUNCTIONS = {token: f"_{token}_" for token in _BINARY} | {"in": "@in"}
_RESERVED = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_ORDER = (
    "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",",
    "-", "!", "?", ":", "+", "*", "/", "%", "true", "false", "null",
    "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", END,
)  # fmt: skip
_OPERANDS = ("[", "{", "(", ".", "-", "!", *_ORDER[_ORDER.index("true") : -1])
_AFTER_OPERAND = (*_BINARY, ".", "[", "?")
_READERS: dict[str, Callable[[str], Any]] = {
    "NUM_INT": literals.integer,
    "NUM_UINT": literals.unsigned,
    "NUM_FLOAT": literals.double,
    "STRING": literals.string,
    "BYTES": literals.bytes_,
}
_SIGNED = ("NUM_INT", "NUM_FLOAT")
_CONSTANTS = {"true": True, "false": False, "null": None}


def parse(text: str) -> Node:
    """The tree of an expression; raises SyntaxProblem."""
    if len(text) > MAX_LENGTH:
        limit = f"size: {len(text)}, limit {MAX_LENGTH}"
        raise SyntaxProblem(
            text, [Problem(-1, f"expression code point size exceeds limit: {limit}")]
        )
    problems: list[Problem] = []
    parser = _Parser(tokens(text, problems), problems)
    try:
        node: Node | None = parser.expression()
        if parser.token.kind != END:
            parser.fail((END,))
    except _Stop:
        node = None
    if problems or node is None:
        raise SyntaxProblem(text, problems)
    return node


class _Stop(Exception):
    """Raised after reporting an error from which the parser cannot continue."""


class _Parser:
    def __init__(self, token_list: list[Token], problems: list[Problem]) -> None:
        self._tokens = token_list
        self._at = 0
        self._depth = 0
        self.token = token_list[0]
        self._problems = problems

    def _next(self) -> Token:
        token = self.token
        if token.kind != END:
            self._at += 1
            self.token = self._tokens[self._at]
        return token

    def _expect(self, kind: str, *others: str) -> Token:
        if self.token.kind != kind:
            self.fail((*others, kind))
        return self._next()

    def fail(self, expected: tuple[str, ...]) -> None:
        """Report the current token as unexpected, in the words of the grammar tool."""
        following = self._tokens[min(self._at + 1, len(self._tokens) - 1)].kind
        names = [
            kind if kind[0].isupper() or kind == END else f"'{kind}'"
            for kind in sorted(expected, key=_ORDER.index)
        ]
        shown = names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
        how = "extraneous" if following in expected and self.token.kind != END else "mismatched"
        message = f"Syntax error: {how} input '{self.token.text}' expecting {shown}"
        self._report(self.token.place, message)
        raise _Stop

    def _report(self, position: int, message: str) -> None:
        self._problems.append(Problem(position, message))

    def expression(self, choice: bool = True) -> Node:
        """Parse operands, the operators between them, and an optional conditional."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._report(-1, TOO_DEEP)
            raise _Stop
        operands: list[Node] = [self._operand()]
        operators: list[Token] = []
        while (level := _BINARY.get(self.token.kind)) is not None:
            while operators and _BINARY[operators[-1].kind] >= level:
                _join(operands, operators.pop())
            operators.append(self._next())
            operands.append(self._operand())
        while operators:
            _join(operands, operators.pop())
        (node,) = operands
        if choice and self.token.kind == "?":
            position = self._next().place
            chosen = self.expression(choice=False)
            self._expect(":")
            node = Call(position, "_?_:_", [node, chosen, self.expression()])
        self._depth -= 1
        return node

    def _operand(self) -> Node:
        first = self.token
        signs = 0
        while first.kind in ("!", "-") and self.token.kind == first.kind:
            self._next()
            signs += 1
        token = self.token
        if token.kind == "(":
            self._next()
            node = self.expression()
            self._expect(")", *_AFTER_OPERAND)
        elif token.kind == "[":
            self._next()
            node = ListOf(token.place, self._items("]"))
        elif token.kind == "{":
            self._next()
            node = MapOf(token.place, self._entries())
        elif first.kind == "-" and signs == 1 and token.kind in _SIGNED:
            self._next()
            node = self._literal(Token(token.kind, "-" + token.text, first.place))
            signs = 0
        elif token.kind == "-" and self._tokens[self._at + 1].kind in _SIGNED:  # after `!`
            self._next()
            number = self._next()
            node = self._literal(Token(number.kind, "-" + number.text, token.place))
        else:
            node = self._atom()
        node = self._member(node)
        return node if signs % 2 == 0 else Call(first.place, f"{first.kind}_", [node])

    def _atom(self) -> Node:
        token = self.token
        if token.kind in _READERS:
            return self._literal(self._next())
        if token.kind in _CONSTANTS:
            return Literal(self._next().place, _CONSTANTS[token.kind])
        if token.kind == "IDENTIFIER" or token.kind == ".":
            return self._name()
        self.fail(_OPERANDS)
        raise AssertionError

    def _literal(self, token: Token) -> Node:
        try:
            return Literal(token.place, _READERS[token.kind](token.text))
        except literals.LiteralError as error:
            self._report(token.place, str(error))
            return Literal(token.place, None)

    def _name(self) -> Node:
        dot = "." if self.token.kind == "." else ""
        if dot:
            self._next()
        token = self._expect("IDENTIFIER")
        if token.text in _RESERVED:
            self._report(token.place, f"reserved identifier: {token.text}")
        return Name(token.place, dot + token.text)

    def _member(self, node: Node) -> Node:
        """Parse the suffixes of an operand: fields, methods, indexes, a message's fields."""
        count = 0
        while True:
            kind = self.token.kind
            if kind == ".":
                position = self._next().place
                name = self._expect("IDENTIFIER").text
                if self.token.kind == "(":
                    position = self._next().place
                    node = self._call(Call(position, name, [node, *self._arguments()], method=True))
                else:
                    node = Select(position, node, name)
            elif kind == "[":
                position = self._next().place
                node = Call(position, "_[_]", [node, self.expression()])
                self._expect("]", *_AFTER_OPERAND)
            elif kind == "(" and isinstance(node, Name) and count == 0:
                position = self._next().place
                node = self._call(Call(position, node.name, self._arguments()))
            elif kind == "{" and isinstance(node, Name | Select):
                node = Message(self._next().place, _dotted(node))
                self._entries()
            else:
                return node
            count += 1
            if count > MAX_DEPTH:
                self._report(-1, TOO_DEEP)
                raise _Stop

    def _call(self, call: Call) -> Node:
        try:
            return expand(call)
        except MacroError as error:
            self._report(error.place, str(error))
            return call

    def _arguments(self) -> list[Node]:
        arguments: list[Node] = []
        if self.token.kind != ")":
            arguments.append(self.expression())
            while self.token.kind == ",":
                self._next()
                arguments.append(self.expression())
        self._expect(")", *_AFTER_OPERAND, ",")
        return arguments

    def _items(self, end: str) -> list[Node]:
        items: list[Node] = []
        while self.token.kind != end:
            if self.token.kind == "," and not items:
                self._next()
                break
            items.append(self.expression())
            if self.token.kind != ",":
                break
            self._next()
        self._expect(end, *_AFTER_OPERAND, ",")
        return items

    def _entries(self) -> list[tuple[Node, Node]]:
        entries: list[tuple[Node, Node]] = []
        while self.token.kind != "}":
            key = self.expression()
            self._expect(":", *_AFTER_OPERAND)
            entries.append((key, self.expression()))
            if self.token.kind != ",":
                break
            self._next()
        self._expect("}", *_AFTER_OPERAND, ",")
        return entries


def _join(operands: list[Node], operator: Token) -> None:
    right = operands.pop()
    left = operands[-1]
    function = _FUNCTIONS[operator.kind]
    if operator.kind in ("&&", "||"):
        if isinstance(left, Logic) and left.function == function:
            left.arguments.append(right)
            left.places.append(operator.place)
        else:
            operands[-1] = Logic(operator.place, function, [left, right], [operator.place])
    else:
        operands[-1] = Call(operator.place, function, [left, right])


def _dotted(node: Node) -> str:
    parts: list[str] = []
    while isinstance(node, Select):
        parts.append(node.field)
        node = node.operand
    parts.append(node.name if isinstance(node, Name) else "")
    return ".".join(reversed(parts))


# Macros: they look like calls, but a name among their arguments is not evaluated.

_LOOPS = {("all", 3), ("exists", 3), ("exists_one", 3), ("filter", 3), ("map", 3), ("map", 4)}
_ACCUMULATOR = "__result__"


class MacroError(ValueError):
    """A malformed macro."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.place = position


def expand(call: Call) -> Node:
    """The macro that a call denotes, or the call itself."""
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
