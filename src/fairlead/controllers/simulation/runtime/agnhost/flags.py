"""The flags of the programs of agnhost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairlead.codec.types.durations import parse_duration


class FlagError(Exception):
    """A flag is not known or has no value."""


class Flags(NamedTuple):
    """The values of flags, and the arguments that are none."""

    values: Mapping[str, str]
    others: list[str]

    def text(self, name: str) -> str:
        return self.values[name]

    def number(self, name: str) -> int:
        try:
            return int(self.values[name])
        except ValueError:
            raise FlagError(f'invalid argument "{self.values[name]}" for "--{name}" flag') from None

    def is_set(self, name: str) -> bool:
        return self.values[name] == "true"

    def seconds(self, name: str) -> float:
        try:
            return parse_duration(self.values[name])
        except ValueError:
            raise FlagError(f'invalid argument "{self.values[name]}" for "--{name}" flag') from None


def parse_flags(
    words: Sequence[str], defaults: Mapping[str, str], short: Mapping[str, str] = {}
) -> Flags:
    """Flags with a dash or two, their values after `=` or in the next word. Those whose default is
    true or false need no value. Raises FlagError."""
    values, others = dict(defaults), []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            others += rest
            break
        if not word.startswith("-") or word == "-":
            others.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        name = short.get(name, name)
        if name not in defaults:
            raise FlagError(f"unknown flag: --{name}")
        if not equals:
            if defaults[name] in ("true", "false"):
                value = "true"
            elif rest:
                value = rest.pop(0)
            else:
                raise FlagError(f"flag needs an argument: --{name}")
        values[name] = value
    return Flags(values, others)
