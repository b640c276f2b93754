"""Parses Go templates: fields, variables, pipelines, `if`, `range`, `with`, and templates inside of
them: `define`, `template`, `block`."""

from __future__ import annotations

import re
from collections.abc import Container
from json import JSONDecodeError, loads
from typing import NamedTuple

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
    Part,
    Pipeline,
    Variable,
)
from fairlead.codec.go_template.values import TemplateError

MAX_LENGTH = 64 * 1024
_MAX_DEPTH = 40
_OPEN, _CLOSE = "{{", "}}"
_COMMENT = re.compile(r"\{\{(- )?/\*.*?\*/( -)?\}\}", re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<space>\s*)(?:(?P<end>-?\}\})
    |(?P<text>"(?:[^"\\\n]|\\.)*"|`[^`]*`)
    |(?P<character>'(?:[^'\\]|\\.)')
    |(?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?!\w))
    |(?P<variable>\$\w*)
    |(?P<field>\.[A-Za-z_]\w*)
    |(?P<sign>:=|[.|(),=])
    |(?P<word>[A-Za-z_]\w*))""",
    re.VERBOSE,
)


class _Token(NamedTuple):
    kind: str
    text: str
    is_spaced: bool


class _Action(NamedTuple):
    tokens: list[_Token]


def parse_template(text: str, functions: Container[str]) -> Body:
    """Parse a template that may call the given functions; raises TemplateError."""
    if len(text) > MAX_LENGTH:
        raise TemplateError(f"the template is longer than {MAX_LENGTH} characters")
    try:
        parser = _Parser(_parts(text), functions)
        body, word = parser.body(is_inner=False)
    except RecursionError:
        raise TemplateError("the template is nested too deeply") from None
    if word:
        raise TemplateError(f"unexpected {{{{{word}}}}}")
    return body


def _parts(text: str) -> list[str | _Action]:
    """The text between actions, and the tokens of each action. White space is trimmed where marks
    of the actions ask for it."""
    parts: list[str | _Action] = []
    trims, at = False, 0
    while True:
        start = text.find(_OPEN, at)
        plain = text[at : start if start >= 0 else None]
        plain = plain.lstrip() if trims else plain
        if start < 0:
            parts.append(plain)
            return parts
        if re.match(r"\{\{-\s", text[start : start + 4]):
            plain = plain.rstrip()
        parts.append(plain)
        comment = _COMMENT.match(text, start)
        if comment is not None:
            trims, at = comment[0].endswith("-}}"), comment.end()
            continue
        action, trims, at = _action(text, start)
        parts.append(action)


def _action(text: str, start: int) -> tuple[_Action, bool, int]:
    at = start + (3 if re.match(r"\{\{-\s", text[start : start + 4]) else 2)
    tokens: list[_Token] = []
    while True:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise TemplateError(f'cannot read "{text[start : start + 40].strip()}"')
        at, kind = match.end(), match.lastgroup
        if kind == "end":
            return _Action(tokens), match["end"].startswith("-"), at
        tokens.append(_Token(kind, match[kind], bool(match["space"])))


class _Parser:
    """Reads parts from left to right; a body ends at `end` or `else`."""

    def __init__(self, parts: list[str | _Action], functions: Container[str]) -> None:
        self._parts = parts
        self._functions = functions
        self._next = 0
        self._depth = 0
        self._loops = 0
        self._variables = ["$"]
        self._templates: dict[str, Body] = {}

    def body(self, *, is_inner: bool = True) -> tuple[Body, str]:
        """The parts up to `end` or `else`, and what ended them; variables end with the body."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TemplateError("the template is nested too deeply")
        outer_count = len(self._variables)
        found: list[Part] = []
        while self._next < len(self._parts):
            part = self._parts[self._next]
            self._next += 1
            if isinstance(part, str):
                found += [part] if part else []
                continue
            word = part.tokens[0].text if part.tokens and part.tokens[0].kind == "word" else ""
            if word in ("end", "else"):
                self._next -= 1
                return self._ended(found, outer_count), word
            if word == "define":
                self._define(part.tokens[1:])
            else:
                found.append(self._statement(word, part.tokens))
        if is_inner:
            raise TemplateError("unexpected end: {{end}} is missing")
        return self._ended(found, outer_count), ""

    def _ended(self, found: list[Part], known: int) -> Body:
        del self._variables[known:]
        self._depth -= 1
        return tuple(found)

    def _statement(self, word: str, tokens: list[_Token]) -> Pipeline | Block | Leave | Call:
        if word in ("template", "block"):
            return self._call(word, tokens[1:])
        if word in ("if", "range", "with"):
            return self._block(word, tokens[1:])
        if word in ("break", "continue") and len(tokens) == 1:
            if not self._loops:
                raise TemplateError(f"{{{{{word}}}}} outside of {{{{range}}}}")
            return Leave(word)
        return self._pipeline(tokens)

    def _define(self, tokens: list[_Token]) -> None:
        if self._depth > 1:
            raise TemplateError("unexpected {{define}}: it stands outside of all other blocks")
        name, rest = _template_name("define", tokens)
        if rest:
            raise TemplateError(f'unexpected "{rest[0].text}"')
        self._read_template(name)

    def _call(self, word: str, tokens: list[_Token]) -> Call:
        """`template`, or `block`, which also defines the template."""
        name, rest = _template_name(word, tokens)
        if word == "block" and not rest:
            raise TemplateError("a value is missing")
        pipeline = self._pipeline(rest) if rest else None
        if word == "block":
            self._read_template(name)
        return Call(name, pipeline, self._templates)

    def _read_template(self, name: str) -> None:
        """Read the body of a template, which sees no variables of the text around it. An empty one
        does not replace another of the same name."""
        variables, loops = self._variables, self._loops
        self._variables, self._loops = ["$"], 0
        body, ended = self.body()
        self._variables, self._loops = variables, loops
        self._next += 1
        if ended != "end":
            raise TemplateError("unexpected {{else}}")
        is_empty = all(isinstance(part, str) and not part.strip() for part in body)
        if name not in self._templates or not is_empty:
            self._templates[name] = body

    def _block(self, word: str, tokens: list[_Token]) -> Block:
        outer_count = len(self._variables)
        pipeline = self._pipeline(tokens, in_range=word == "range")
        self._loops += word == "range"
        body, ended = self.body()
        self._loops -= word == "range"
        otherwise: Body = ()
        closing = self._action_tokens()
        if ended == "else" and len(closing) > 1:  # `else if`, `else with`: a block in its place
            otherwise = (self._block(closing[1].text, closing[2:]),)
        elif ended == "else":
            otherwise, ended = self.body()
            self._action_tokens()
            if ended != "end":
                raise TemplateError("unexpected {{else}}")
        del self._variables[outer_count:]
        return Block(word, pipeline, body, otherwise)

    def _action_tokens(self) -> list[_Token]:
        part = self._parts[self._next]
        self._next += 1
        assert isinstance(part, _Action)
        return part.tokens

    def _pipeline(self, tokens: list[_Token], *, in_range: bool = False) -> Pipeline:
        reader = _PipelineReader(tokens, self._functions, self._variables)
        return reader.statement(in_range)


def _template_name(word: str, tokens: list[_Token]) -> tuple[str, list[_Token]]:
    """The name of a template, and the tokens behind it."""
    if not tokens or tokens[0].kind != "text":
        raise TemplateError(f"{{{{{word}}}}} needs the name of a template in quotes")
    return _unquoted(tokens[0].text), tokens[1:]


class _PipelineReader:
    """Reads the tokens of one action."""

    def __init__(
        self, tokens: list[_Token], functions: Container[str], variables: list[str]
    ) -> None:
        self._tokens = tokens
        self._functions = functions
        self._variables = variables
        self._next = 0

    def statement(self, in_range: bool) -> Pipeline:
        names, declares = self._assigned(in_range)
        commands = self._commands()
        if self._next < len(self._tokens):
            raise TemplateError(f'unexpected "{self._tokens[self._next].text}"')
        if declares:
            self._variables += names
        return Pipeline(commands, names, declares)

    def _assigned(self, in_range: bool) -> tuple[tuple[str, ...], bool]:
        """The variables before `:=` or `=`."""
        signs = [
            at
            for at, token in enumerate(self._tokens[:4])
            if token.text in (":=", "=") and token.kind == "sign"
        ]
        if not signs:
            return (), False
        at, token = signs[0], self._tokens[signs[0]]
        names = tuple(part.text for part in self._tokens[:at] if part.text != ",")
        if len(names) not in ((1, 2) if in_range else (1,)) or any(
            not name.startswith("$") for name in names
        ):
            raise TemplateError(f'unexpected "{token.text}"')
        declares = token.text == ":="
        for name in names:
            self._check(name, declares=declares)
        self._next = at + 1
        return names, declares

    def _check(self, name: str, *, declares: bool = False) -> None:
        if not declares and name not in self._variables:
            raise TemplateError(f"undefined variable {name}")

    def _commands(self) -> tuple[tuple[Operand, ...], ...]:
        commands = [self._command()]
        while self._peek() == "|":
            self._next += 1
            commands.append(self._command())
        return tuple(commands)

    def _command(self) -> tuple[Operand, ...]:
        operands: list[Operand] = []
        while self._next < len(self._tokens) and self._peek() not in ("|", ")"):
            operands.append(self._operand())
        if not operands:
            raise TemplateError("a value is missing")
        if len(operands) > 1 and not isinstance(operands[0], Function):
            raise TemplateError("only functions have arguments")
        return tuple(operands)

    def _peek(self) -> str:
        if self._next == len(self._tokens) or self._tokens[self._next].kind != "sign":
            return ""
        return self._tokens[self._next].text

    def _operand(self) -> Operand:
        result = self._simple()
        names: list[str] = []
        while self._next < len(self._tokens):
            token = self._tokens[self._next]
            if token.kind != "field" or token.is_spaced:
                break
            names.append(token.text[1:])
            self._next += 1
        return Fields(result, tuple(names)) if names else result

    def _simple(self) -> Operand:
        token = self._tokens[self._next]
        self._next += 1
        match token.kind:
            case "field":
                return Fields(Dot(), (token.text[1:],))
            case "variable":
                self._check(token.text)
                return Variable(token.text)
            case "number":
                return Literal(_number(token.text))
            case "text":
                return Literal(_unquoted(token.text))
            case "character":
                return Literal(ord(_unquoted(f'"{_character(token.text)}"')))
            case "word":
                return self._word(token.text)
        if token.text == ".":
            return Dot()
        if token.text == "(":
            inner = Pipeline(self._commands())
            if self._peek() != ")":
                raise TemplateError('")" is missing')
            self._next += 1
            return inner
        raise TemplateError(f'unexpected "{token.text}"')

    def _word(self, name: str) -> Operand:
        if name in _CONSTANTS:
            return Literal(_CONSTANTS[name])
        if name not in self._functions:
            raise TemplateError(f'the function "{name}" is not supported')
        return Function(name)


_CONSTANTS = {"true": True, "false": False, "nil": None}


def _number(text: str) -> float:
    try:
        return int(text, 0) if text.lstrip("+-")[:1] != "0" or "x" in text.lower() else int(text)
    except ValueError:
        return float(text)


def _character(text: str) -> str:
    """The text between the quotes of a character constant, in the notation of a string."""
    return {'"': '\\"', "\\'": "'"}.get(text[1:-1], text[1:-1])


def _unquoted(text: str) -> str:
    if text.startswith("`"):
        return text[1:-1]
    try:
        return str(loads(text))
    except JSONDecodeError:
        raise TemplateError(f"{text} is not a string") from None
