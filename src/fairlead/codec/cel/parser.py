"""Parses tokens to a tree: explicit stacks for precedence, one recursion per bracket level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.codec.cel import literals
from fairlead.codec.cel.errors import MAX_SHOWN, Problem, SyntaxProblem
from fairlead.codec.cel.lexer import END, QUOTED_NAME, Token, tokens
from fairlead.codec.cel.macros import MacroError, Macros
from fairlead.codec.cel.syntax import (
    Call,
    ListOf,
    Literal,
    Logic,
    MapOf,
    Message,
    MessageField,
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
KEYWORDS = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_ORDER = (
    "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",",
    "-", "!", "?", ":", "+", "*", "/", "%", "true", "false", "null",
    "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", QUOTED_NAME, END,
)  # fmt: skip
_OPERANDS = ("[", "{", "(", ".", "-", "!", *_ORDER[_ORDER.index("true") : -2])
_AFTER_OPERAND = (*_BINARY, ".", "[", "?")
_CLOSERS = (")", "]", "}")
_READERS: dict[str, Callable[[str], Any]] = {
    "NUM_INT": literals.integer,
    "NUM_UINT": literals.unsigned,
    "NUM_FLOAT": literals.double,
    "STRING": literals.string,
    "BYTES": literals.bytes_,
}
_SIGNED = ("NUM_INT", "NUM_FLOAT")
_CONSTANTS = {"true": True, "false": False, "null": None}


def parse(text: str, rules: frozenset[str] = frozenset()) -> Node:
    """The tree of an expression in a language with these rules; raises SyntaxProblem."""
    if len(text) > MAX_LENGTH:
        limit = f"size: {len(text)}, limit {MAX_LENGTH}"
        raise SyntaxProblem(
            text, [Problem(-1, f"expression code point size exceeds limit: {limit}")]
        )
    problems: list[Problem] = []
    parser = _Parser(tokens(text, problems, "quoted_fields" in rules), problems, rules)
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
    def __init__(
        self, token_list: list[Token], problems: list[Problem], rules: frozenset[str]
    ) -> None:
        self._macros = Macros(rules)
        self._has_optionals = "optionals" in rules
        self._is_revised = "revised" in rules
        self._names = ("IDENTIFIER", QUOTED_NAME) if "quoted_fields" in rules else ("IDENTIFIER",)
        self._besides: tuple[str, ...] = ()  # tokens that are expected here besides an operand
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
            self._besides = ()
        return token

    def _expect(self, kind: str, *others: str) -> Token:
        if self.token.kind != kind:
            if self._is_revised:
                others = tuple(other for other in others if other == ",")
            self.fail((*others, kind))
        return self._next()

    def _close(self, kind: str, has_separator: bool) -> None:
        """Expect the end of a list, map or message; `has_separator`: after a comma."""
        if has_separator and self._is_revised:
            self._expect(kind)
        else:
            self._expect(kind, *_AFTER_OPERAND, ",")

    def _separator(self) -> bool:
        """Skip a comma between items; whether there was one."""
        if self.token.kind == ",":
            self._next()
            return True
        return False

    def _may_continue(self, *others: str) -> bool:
        """Whether another item can follow a comma, or the list has to end."""
        return not self._is_revised or self.token.kind in (*_OPERANDS, *others)

    def _is_optional(self) -> bool:
        """Skip the mark of an optional field, index, item or entry; whether there is one."""
        if self._has_optionals and self.token.kind == "?":
            self._next()
            return True
        return False

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
        if how == "mismatched" and len(expected) == 1 and self._may_follow(expected[0]):
            message = f"Syntax error: missing {shown} at '{self.token.text}'"
        self._report(self.token.place, message)
        if how == "mismatched" or not self._is_revised or len(self._problems) >= MAX_SHOWN:
            raise _Stop
        self._next()  # goes on after a superfluous token

    def _may_follow(self, kind: str) -> bool:
        """Whether the current token would be valid after one of this kind, which is missing."""
        if not self._is_revised or kind == END:
            return False
        if kind == ":":
            return self.token.kind in _OPERANDS
        if self.token.kind == END:
            return kind in _CLOSERS and self._depth == 1
        return kind in _CLOSERS and self.token.kind in _AFTER_OPERAND

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
            node = self._list(token.place)
        elif token.kind == "{":
            self._next()
            node = self._map(token.place)
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
        try:
            self.fail((*_OPERANDS, *(self._besides if self._is_revised else ())))
        except _Stop:
            if not self._may_go_on():
                raise
            return Literal(token.place, None)
        return self._operand()

    def _may_go_on(self) -> bool:
        """Whether the parser goes on after a missing operand: in front of an operator."""
        is_operator = self.token.kind in _BINARY or self.token.kind == "?"
        return self._is_revised and is_operator and len(self._problems) < MAX_SHOWN

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
        if token.text in KEYWORDS:
            self._report(token.place, f"reserved identifier: {token.text}")
        return Name(token.place, dot + token.text)

    def _member(self, node: Node) -> Node:
        """Parse the suffixes of an operand: fields, methods, indexes, a message's fields."""
        count = 0
        while True:
            kind = self.token.kind
            if kind == ".":
                node = self._field(node)
            elif kind == "[":
                position = self._next().place
                self._besides = ("?",)
                function = "_[?_]" if self._is_optional() else "_[_]"
                node = Call(position, function, [node, self.expression()])
                self._expect("]", *_AFTER_OPERAND)
            elif kind == "(" and isinstance(node, Name) and count == 0:
                position = self._next().place
                node = self._call(Call(position, node.name, self._arguments()))
            elif kind == "{" and isinstance(node, Name | Select):
                node = Message(self._next().place, _dotted(node), self._fields())
            else:
                return node
            count += 1
            if count > MAX_DEPTH:
                self._report(-1, TOO_DEEP)
                raise _Stop

    def _field(self, node: Node) -> Node:
        """Parse a field, an optional field or a method of an operand."""
        position = self._next().place
        is_optional = self._is_optional()
        if is_optional or not self._is_revised or self.token.kind in self._names:
            name = self._field_name(is_optional)
        else:
            text = "" if self.token.kind == END else self.token.text
            self._report(
                self.token.place, f"Syntax error: no viable alternative at input '.{text}'"
            )
            raise _Stop
        if is_optional:
            return Call(position, "_?._", [node, Literal(name.place, name.text)])
        if self.token.kind != "(":
            return Select(position, node, name.text)
        position = self._next().place
        return self._call(Call(position, name.text, [node, *self._arguments()], method=True))

    def _field_name(self, is_optional: bool = False) -> Token:
        token = self.token
        if token.kind not in self._names:
            try:
                self.fail(self._names)
            finally:
                if is_optional and self._is_revised:
                    self._report(token.place, "unsupported ident kind")
            token = self.token
        if token.kind == QUOTED_NAME:
            self._report(token.place, "unsupported syntax: '`'")
        return self._next()

    def _call(self, call: Call) -> Node:
        try:
            return self._macros.expand(call)
        except MacroError as error:
            self._report(error.place, str(error))
            return call

    def _arguments(self) -> list[Node]:
        arguments: list[Node] = []
        following = self._tokens[min(self._at + 1, len(self._tokens) - 1)].kind
        if self._is_revised and self.token.kind not in (*_OPERANDS, ")") and following == ")":
            self.fail((*_OPERANDS, ")"))  # skips the token
        if self.token.kind != ")":
            self._besides = (")",)
            arguments.append(self.expression())
            while self._separator():
                arguments.append(self.expression())
        self._close(")", has_separator=True)
        return arguments

    def _list(self, position: int) -> Node:
        items: list[Node] = []
        optional: set[int] = set()
        self._besides = ("]", ",", "?")
        has_separator = self._separator()
        while self.token.kind != "]" and not (has_separator and not items):
            if self._is_optional():
                optional.add(len(items))
            items.append(self.expression())
            has_separator = self._separator()
            if not has_separator or not self._may_continue("?"):
                break
        self._close("]", has_separator)
        return ListOf(position, items, frozenset(optional))

    def _map(self, position: int) -> Node:
        entries: list[tuple[Node, Node]] = []
        optional: set[int] = set()
        self._besides = ("}", ",", "?")
        has_separator = self._separator()
        while self.token.kind != "}" and not (has_separator and not entries):
            if self._is_optional():
                optional.add(len(entries))
            key = self.expression()
            self._expect(":", *_AFTER_OPERAND)
            entries.append((key, self.expression()))
            has_separator = self._separator()
            if not has_separator or not self._may_continue("?"):
                break
        self._close("}", has_separator)
        return MapOf(position, entries, frozenset(optional))

    def _fields(self) -> list[MessageField]:
        fields: list[MessageField] = []
        has_separator = self._separator()
        while self.token.kind != "}" and not (has_separator and not fields):
            is_optional = self._is_optional()
            if not fields and not is_optional and self._is_revised and self._has_no_name():
                self.fail(("}", ",", "?", *self._names))
            name = self._field_name().text
            colon = self._expect(":")
            fields.append(MessageField(colon.place, name, self.expression(), is_optional))
            has_separator = self._separator()
            if not has_separator or (self._is_revised and self._has_no_name("?")):
                break
        self._close("}", has_separator)
        return fields

    def _has_no_name(self, *others: str) -> bool:
        return self.token.kind not in (*self._names, *others)


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
