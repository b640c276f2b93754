"""The options of simulated programs, and what of them a command line gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_NUMBER = re.compile(r"[-+]\d{1,18}", re.ASCII)
_MAX_LETTERS = 20  # of one word that are looked at


class Given(NamedTuple):
    """The values of the options that were given, by their first names ("" for those without a
    value), and the other arguments."""

    options: Mapping[str, list[str]]
    operands: list[str]

    def has(self, *names: str) -> bool:
        """Whether any of these options was given."""
        return any(name in self.options for name in names)

    def value(self, name: str, default: str = "") -> str:
        """The last value of an option."""
        return self.options[name][-1] if name in self.options else default

    def values(self, name: str) -> list[str]:
        return self.options.get(name, [])


class Options:
    """The options of a program. `text` has a word for each that has a long name or a value: its
    names with commas between them, `:` at the end if it has a value, such as `n,lines:`. Other
    letters are flags, other long names count for nothing.

    `number` is the option that `-5` stands for, if any. If `leads`, a program's options end where
    its operands begin: those are a command with options of its own."""

    def __init__(self, text: str = "", *, number: str = "", leads: bool = False) -> None:
        self._names: dict[str, str] = {}
        self._valued: set[str] = set()
        self._number = number
        self._leads = leads
        for word in text.split():
            names = word.removesuffix(":").split(",")
            self._names |= dict.fromkeys(names, names[0])
            if word.endswith(":"):
                self._valued.add(names[0])

    def read(self, words: Iterable[str]) -> Given:
        """Read the arguments of a program. `--` ends its options."""
        options: dict[str, list[str]] = {}
        operands: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                break
            if self._number and _NUMBER.fullmatch(word):
                options.setdefault(self._number, []).append(word.removeprefix("-"))
            elif len(word) < 2 or word[0] != "-":
                operands.append(word)
                if self._leads:
                    break
            else:
                pairs = self._long(word) if word[1] == "-" else self._short(word)
                for name, value in pairs:
                    if value is None:
                        value = next(rest, "")
                    options.setdefault(name, []).append(value)
        operands += rest
        return Given(options, operands)

    def _long(self, word: str) -> list[tuple[str, str | None]]:
        """The option of a word with its value, None if that is the next word."""
        text, equals, value = word[2:].partition("=")
        name = self._names.get(text)
        if name is None:
            return []
        return [(name, None if name in self._valued and not equals else value)]

    def _short(self, word: str) -> list[tuple[str, str | None]]:
        """The options of a word such as `-rf` or `-n5`."""
        pairs: list[tuple[str, str | None]] = []
        for at, letter in enumerate(word[1:_MAX_LETTERS], start=2):
            name = self._names.get(letter, letter)
            if name in self._valued:
                return [*pairs, (name, word[at:] or None)]
            pairs.append((name, ""))
        return pairs
