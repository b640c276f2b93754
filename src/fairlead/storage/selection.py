"""Label and field selectors: parsed once, matched against the labels and fields of versions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from fairlead.base.caches import memoized
from fairlead.codec.types.names import label_value, qualified_name
from fairlead.storage.version import Version

# Bounds: a list matches every object against the selector, a watch every write.
MAX_TERMS = 2000  # conditions and values of one selector
MAX_KEYS = 64  # with conditions, per selector


class SelectorError(ValueError):
    """The selector is invalid; the text is the reason."""


_LABEL_TOKEN = re.compile(r"[ \t\r\n]*(!=|==|=|>|<|!|\(|\)|,|[^ \t\r\n!=><(),]+)")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


class Requirement(NamedTuple):
    """One condition on one key: in, notin, exists, !, gt or lt."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    @property
    def is_positive(self) -> bool:
        """Whether it requires the key to exist, with any value."""
        return self.operator in ("exists", "gt", "lt")

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


def folded(rules: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
    """Merge conditions so that each key has at most one per operator."""
    if len(rules) < 2:
        return rules
    by_operator: dict[tuple[str, str], list[frozenset[str]]] = {}
    for rule in rules:
        by_operator.setdefault((rule.key, rule.operator), []).append(rule.values)
    return tuple(
        Requirement(key, operator, _FOLDS[operator](values) if len(values) > 1 else values[0])
        for (key, operator), values in by_operator.items()
    )


def _strictest(choose: Callable[..., int]) -> Callable[[list[frozenset[str]]], frozenset[str]]:
    return lambda values: frozenset(
        [str(choose(int(text) for value_set in values for text in value_set))]
    )


_FOLDS: dict[str, Callable[[list[frozenset[str]]], frozenset[str]]] = {
    "in": lambda values: values[0].intersection(*values),
    "notin": lambda values: values[0].union(*values),
    "exists": lambda values: values[0],
    "!": lambda values: values[0],
    "gt": _strictest(max),
    "lt": _strictest(min),
}


_END = ""
_BINARY = "in, notin, =, ==, !=, gt, lt"
_SYMBOLS = "=!(),><"
_OPERATORS = {
    "=": "in",
    "==": "in",
    "!=": "notin",
    "in": "in",
    "notin": "notin",
    ">": "gt",
    "<": "lt",
}


def _label_tokens(text: str) -> Iterator[str]:
    """Yield the symbols and words of a selector, then "" for its end."""
    for match in _LABEL_TOKEN.finditer(text):
        yield match[1]
    yield _END


class _LabelParser:
    """Recursive descent parser. `in` and `notin` are keywords only where an operator is
    expected."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_label_tokens(text))
        self.position = 0
        self.terms = 0

    def peek(self) -> str:
        return self.tokens[self.position]

    def take(self) -> str:
        token = self.tokens[self.position]
        if token != _END:
            self.position += 1
        return token

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while (token := self.peek()) != _END:
            if token != "!" and not _is_word(token):
                expected = "!, identifier, or 'end of string'"
                raise SelectorError(f"found '{token}', expected: {expected}")
            try:
                requirements.append(self.requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            separator = self.take()
            if separator not in (_END, ","):
                raise SelectorError(f"found '{separator}', expected: ',' or 'end of string'")
            following = self.peek()
            if separator and following != "!" and not _is_word(following):
                raise SelectorError(f"found '{following}', expected: identifier after ','")
        return requirements

    def count(self) -> None:
        self.terms += 1
        check_terms(self.terms)

    def requirement(self) -> Requirement:
        self.count()
        negated = self.peek() == "!"
        if negated:
            self.take()
        key = self.take()
        if not _is_word(key):
            raise SelectorError(f"found '{key}', expected: identifier")
        check_label_key(key)
        if negated:
            return Requirement(key, "!")
        if self.peek() in (_END, ","):
            return Requirement(key, "exists")
        symbol = self.take()
        operator = _OPERATORS.get(symbol)
        if operator is None:
            raise SelectorError(f"found '{symbol}', expected: {_BINARY}")
        values = self.values() if symbol in ("in", "notin") else {self.value()}
        _check_values(key, operator, sorted(values))
        return Requirement(key, operator, frozenset(values))

    def value(self) -> str:
        if self.peek() in (_END, ","):
            return ""
        token = self.take()
        if not _is_word(token):
            raise SelectorError(f"found '{token}', expected: identifier")
        return token

    def values(self) -> set[str]:
        opening = self.take()
        if opening != "(":
            raise SelectorError(f"found '{opening}' expected: '('")
        if self.peek() != "," and self.peek() != ")" and not _is_word(self.peek()):
            raise SelectorError(f"found '{self.peek()}', expected: ',', ')' or identifier")
        values: set[str] = set()
        is_empty = True  # nothing since the last comma
        while (token := self.take()) != ")":
            if token == ",":
                if is_empty:
                    values.add("")
                is_empty = True
            elif not _is_word(token):
                raise SelectorError(f"found '{token}', expected: ',', or identifier")
            else:
                self.count()
                values.add(token)
                is_empty = False
                if self.peek() not in (",", ")"):
                    raise SelectorError(f"found '{self.peek()}', expected: ',' or ')'")
        return values | {""} if is_empty else values


def _is_word(token: str) -> bool:
    return token != _END and token[0] not in _SYMBOLS


def check_terms(count: int) -> None:
    if count > MAX_TERMS:
        raise SelectorError(f"a selector may have {MAX_TERMS} conditions and values at most")


def check_label_key(key: str) -> None:
    if errors := qualified_name(key):
        raise SelectorError(f'<nil>: Invalid value: "{key}": {"; ".join(errors)}')


def _check_values(key: str, operator: str, values: list[str]) -> None:
    errors = []
    if operator in ("gt", "lt"):
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        errors += [
            f'values[{index}]: Invalid value: "{value}": {detail}'
            for index, value in enumerate(values)
            if not (_INTEGER.fullmatch(value) and -(2**63) <= int(value) < 2**63)
        ]
    for index, value in enumerate(values):
        if details := label_value(value):
            reasons = "; ".join(details)
            errors.append(f'values[{index}][{key}]: Invalid value: "{value}": {reasons}')
    if errors:
        raise SelectorError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")


@memoized(longest=512, per_byte=200)
def parse_labels(text: str) -> tuple[Requirement, ...]:
    requirements = tuple(_LabelParser(text).parse())
    if len({rule.key for rule in requirements}) > MAX_KEYS:
        raise SelectorError(f"a selector may have conditions on {MAX_KEYS} keys at most")
    return requirements


@memoized(longest=512, per_byte=200)
def parse_fields(text: str) -> tuple[Requirement, ...]:
    """Parse a field selector, which has only equality: `a=b`, `a==b`, `a!=b`, joined by commas.
    The order of the terms does not matter: of two names the same one is authorized."""
    requirements: list[Requirement] = []
    for count, term in enumerate(sorted(_split_terms(text)), 1):
        check_terms(count)
        match = re.match(r"^((?:[^!=]|!(?!=))*)(!=|==|=)(.*)$", term, re.DOTALL)
        if match is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        operator = "notin" if match[2] == "!=" else "in"
        value = _unescape(match[3])
        if match[1] or value:  # a bare operator is no condition
            requirements.append(Requirement(match[1], operator, frozenset([value])))
    return tuple(requirements)


def _split_terms(text: str) -> list[str]:
    return [term for term in re.split(r"(?<!\\),", text) if term]


def _unescape(text: str) -> str:
    def letter(match: re.Match[str]) -> str:
        part = match[0]
        if part[0] != "\\":
            code = ord(part)
            raise SelectorError(f"invalid field selector: unescaped character in value: {code}")
        if part[1:] not in ("\\", ",", "="):
            raise SelectorError(f"invalid field selector: invalid escape sequence: {part}")
        return part[1:]

    return re.sub(r"\\.?|[,=]", letter, text, flags=re.DOTALL)


def _required_value(fields: tuple[Requirement, ...], key: str) -> str | None:
    """Return the value that a field must equal, None if the selector does not fix it."""
    for rule in fields:
        if rule.key == key and rule.operator == "in" and rule.values:
            return next(iter(rule.values))
    return None


class Fact(NamedTuple):
    """A label or a field that selectors refer to."""

    is_label: bool
    name: str

    def of(self, version: Version) -> str | None:
        """Return its value in a version; a missing field is empty, a missing label None."""
        if self.is_label:
            return version.labels.get(self.name)
        getter = _KEY_FIELDS.get(self.name)
        return getter(version) if getter else version.fields.get(self.name, "")


class IndexHint(NamedTuple):
    """A property shared by all selected objects: a fact with one of `values`, or with any value
    (None)."""

    fact: Fact
    values: frozenset[str] | None


class Selection:
    """The label and field selector of a request. Matching parses no object whose facts are
    cached."""

    __slots__ = ("_hints", "fields", "labels", "name", "namespace")

    def __init__(
        self,
        labels: tuple[Requirement, ...] = (),
        fields: tuple[Requirement, ...] = (),
    ) -> None:
        self.labels = folded(labels)
        self.fields = folded(fields)
        self.name = _required_value(fields, "metadata.name")
        self.namespace = _required_value(fields, "metadata.namespace")
        self._hints: tuple[IndexHint, ...] | None = None

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields)

    @property
    def rules(self) -> tuple[tuple[Requirement, ...], tuple[Requirement, ...]]:
        """The conditions, as a key: selections with equal rules are equal."""
        return self.labels, self.fields

    @property
    def hints(self) -> tuple[IndexHint, ...]:
        """The facts by which selected objects can be looked up: fields first, then labels, then
        labels that only have to exist."""
        if self._hints is None:
            rules = [(False, rule) for rule in self.fields] + [(True, rule) for rule in self.labels]
            equal = [
                IndexHint(Fact(is_label, rule.key), rule.values)
                for is_label, rule in rules
                if rule.operator == "in"
            ]
            present = [
                IndexHint(Fact(True, label.key), None) for label in self.labels if label.is_positive
            ]
            self._hints = (*equal, *present)
        return self._hints

    def matches(self, version: Version) -> bool:
        """Whether this version is selected; a deletion never is."""
        if version.body is None:
            return False
        if self.labels:
            labels = version.labels
            for rule in self.labels:
                if not rule.matches(labels):
                    return False
        return all(
            (Fact(False, rule.key).of(version) in rule.values) == (rule.operator == "in")
            for rule in self.fields
        )


_KEY_FIELDS: dict[str, Callable[[Version], str]] = {
    "metadata.name": lambda version: version.name,
    "metadata.namespace": lambda version: version.namespace,
}

EVERYTHING = Selection()
