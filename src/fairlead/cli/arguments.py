"""Reading the words of a client command: flags anywhere, and errors as people know them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from fairlead.cli.errors import UsageError
from fairlead.cli.parsing import Help

_TRUE = ("true", "1", "t", "T", "TRUE", "True")
_FALSE = ("false", "0", "f", "F", "FALSE", "False")


def truth(text: str) -> bool | None:
    """What a text says that stands for yes or no; None if it says neither."""
    return True if text in _TRUE else False if text in _FALSE else None


class Switch(argparse.Action):
    """A flag that is on when it is there: `--watch`, and also `--watch=false`."""

    def __init__(self, option_strings: Sequence[str], dest: str, **settings: Any) -> None:
        settings.setdefault("default", False)
        super().__init__(option_strings, dest, nargs=0, **settings)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, True)


class ArgumentReader(argparse.ArgumentParser):
    """The flags of one command. Raises UsageError where argparse would end the process."""

    def __init__(self, *, words: Sequence[str] = (), **settings: Any) -> None:
        """`words` are those that will be read, for commands with several forms."""
        super().__init__(allow_abbrev=False, formatter_class=Help, exit_on_error=True, **settings)
        self.words = tuple(words)
        self._bare: dict[str, str] = {}

    def add_switch(self, *names: str, help: str, **settings: Any) -> None:
        self.add_argument(*names, action=Switch, help=help, **settings)

    def add_choice(self, name: str, *, bare: str, help: str, **settings: Any) -> None:
        """A flag whose value stands behind `=`; alone it means `bare`."""
        self.add_argument(name, help=help, **settings)
        self._bare[name] = f"{name}={bare}"

    def unused(self, names: Sequence[str]) -> list[str]:
        """Those of these flags that the command does not have."""
        return [name for name in names if name not in self._option_string_actions]

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Raises UsageError."""
        own, behind = _split(words)
        off: list[str] = []
        plain = [self._without_value(word, off) for word in own]
        options, unknown = self.parse_known_intermixed_args(
            [word for word in plain if word is not None]
        )
        if unknown:
            word = unknown[0].partition("=")[0]
            if word.startswith("--"):
                raise UsageError(f"unknown flag: {word}")
            if word.startswith("-"):
                raise UsageError(f"unknown shorthand flag: '{word[1:2]}' in {word}")
            raise UsageError(f"unexpected argument {word!r}")
        for name in off:
            setattr(options, name, False)
        options.behind = behind
        return options

    def _without_value(self, word: str, off: list[str]) -> str | None:
        """A switch with its value becomes a plain one, or nothing and a name in `off`."""
        name, sign, value = word.partition("=")
        if word in self._bare:
            return self._bare[word]
        action = self._option_string_actions.get(name) if sign else None
        if not isinstance(action, Switch):
            return word
        found = truth(value)
        if found is False:
            off.append(action.dest)
            return None
        if found is None:
            raise UsageError(
                f'invalid argument "{value}" for "{", ".join(action.option_strings)}" flag:'
                f' strconv.ParseBool: parsing "{value}": invalid syntax'
            )
        return name

    def error(self, message: str) -> NoReturn:
        raise UsageError(message.removeprefix("argument "))

    def print_help(self, file: Any = None) -> None:
        print(self.format_help(), end="", file=file or sys.stdout)


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words before and behind `--`."""
    found = list(words)
    if "--" not in found:
        return found, []
    at = found.index("--")
    return found[:at], found[at + 1 :]
