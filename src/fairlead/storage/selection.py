"""Label and field selectors: parsed once, matched against an entry's facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairlead.bounded import remembered
from fairlead.schema.names import label_value, qualified_name
from fairlead.storage.entry import Entry


class SelectorError(ValueError):
    """A selector that cannot be understood; the text says why."""


_LABEL_TOKEN = re.compile(r"\s*(!=|==|=|>|<|!|\(|\)|,|[^\s!=><(),]+)")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one key: in, notin, exists, !, gt or lt."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, facts: Mapping[str, str]) -> bool:
        value = facts.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case _:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        try:
            left, right = int(value or ""), int(next(iter(self.values)))
        except ValueError:
            return False
        return left > right if self.operator == "gt" else left < right


class _LabelParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _LABEL_TOKEN.match(text, position)
            if match is None:
                raise SelectorError(f"unable to parse requirement: {text}")
            self.tokens.append(match[1])
            position = match.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def parse(self) -> list[Requirement]:
        found: list[Requirement] = []
        while self.peek():
            found.append(self.requirement())
            separator = self.take()
            if separator not in ("", ","):
                raise SelectorError(f"found '{separator}', expected: ',' or 'end of string'")
            if separator and not self.peek():
                raise SelectorError("found '', expected: identifier after ','")
        return found

    def requirement(self) -> Requirement:
        if self.peek() == "!":
            self.take()
            return Requirement(self.key(), "!")
        key = self.key()
        operator = self.peek()
        if operator in ("", ","):
            return Requirement(key, "exists")
        self.take()
        match operator:
            case "=" | "==":
                return Requirement(key, "in", frozenset([self.value(key)]))
            case "!=":
                return Requirement(key, "notin", frozenset([self.value(key)]))
            case "in" | "notin":
                return Requirement(key, operator, self.values(key))
            case ">" | "<":
                value = self.value(key)
                if not value.lstrip("-").isdigit():
                    raise SelectorError(
                        f"for 'Gt', 'Lt' operators, the value must be an integer: {value}"
                    )
                return Requirement(key, "gt" if operator == ">" else "lt", frozenset([value]))
        raise SelectorError(
            f"unable to parse requirement: found '{operator}', expected: in, notin, =, ==, !=,"
            " gt, lt"
        )

    def key(self) -> str:
        key = self.take()
        if not key or key in "!=><(),":
            raise SelectorError(f"unable to parse requirement: found '{key}', expected: identifier")
        check_label_key(key)
        return key

    def value(self, key: str) -> str:
        token = self.peek()
        if token in ("", ","):
            return ""
        return check_label_value(key, self.take())

    def values(self, key: str) -> frozenset[str]:
        if self.take() != "(":
            raise SelectorError(
                f"unable to parse requirement: found '{self.tokens[self.at - 1]}', expected: '('"
                if self.at <= len(self.tokens)
                else "unable to parse requirement: found '', expected: '('"
            )
        found: list[str] = []
        while True:
            token = self.peek()
            if token in (",", ")"):
                found.append("")
            elif token:
                found.append(check_label_value(key, self.take()))
            separator = self.take()
            if separator == ")":
                return frozenset(found)
            if separator != ",":
                raise SelectorError(
                    f"unable to parse requirement: found '{separator}', expected: ',' or ')'"
                )


def check_label_key(key: str) -> None:
    if wrong := qualified_name(key):
        raise SelectorError(
            f'unable to parse requirement: key: Invalid value: "{key}": {"; ".join(wrong)}'
        )


def check_label_value(key: str, value: str) -> str:
    if wrong := label_value(value):
        raise SelectorError(
            f'unable to parse requirement: values[0][{key}]: Invalid value: "{value}": '
            + "; ".join(wrong)
        )
    return value


@remembered(longest=512, per_byte=200)
def parse_labels(text: str) -> tuple[Requirement, ...]:
    return tuple(_LabelParser(text).parse())


@remembered(longest=512, per_byte=200)
def parse_fields(text: str) -> tuple[Requirement, ...]:
    """Field selectors know only equality: `a=b`, `a==b`, `a!=b`, joined by commas."""
    found: list[Requirement] = []
    for term in _split_terms(text):
        match = re.match(r"^([^!=]*)(!=|==|=)(.*)$", term, re.DOTALL)
        if match is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        operator = "notin" if match[2] == "!=" else "in"
        found.append(Requirement(match[1], operator, frozenset([_unescape(match[3])])))
    return tuple(found)


def _split_terms(text: str) -> list[str]:
    return [term for term in re.split(r"(?<!\\),", text) if term]


def _unescape(text: str) -> str:
    return re.sub(r"\\([\\,=])", r"\1", text)


def _single(fields: tuple[Requirement, ...], key: str) -> str | None:
    """The one value that a field must have, if the selector says so."""
    for rule in fields:
        if rule.key == key and rule.operator == "in":
            return next(iter(rule.values))
    return None


class Selection:
    """Which objects of a resource a request is about. Matching never parses an object that
    wrote its facts down."""

    __slots__ = ("fields", "labels", "name", "namespace")

    def __init__(
        self,
        labels: tuple[Requirement, ...] = (),
        fields: tuple[Requirement, ...] = (),
    ) -> None:
        self.labels = labels
        self.fields = fields
        self.name = _single(fields, "metadata.name")
        self.namespace = _single(fields, "metadata.namespace")

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields)

    def matches(self, entry: Entry) -> bool:
        """Whether the content of this entry is selected; a deleted one never is."""
        if entry.body is None:
            return False
        return all(rule.matches(entry.labels) for rule in self.labels) and all(
            self._field_matches(rule, entry) for rule in self.fields
        )

    @staticmethod
    def _field_matches(rule: Requirement, entry: Entry) -> bool:
        known = _KEY_FIELDS.get(rule.key)
        value = known(entry) if known else entry.fields.get(rule.key, "")
        return (value in rule.values) == (rule.operator == "in")


_KEY_FIELDS: dict[str, Callable[[Entry], str]] = {
    "metadata.name": lambda entry: entry.name,
    "metadata.namespace": lambda entry: entry.namespace,
}

EVERYTHING = Selection()
