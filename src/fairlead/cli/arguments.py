"""Argument parser of client commands: flags may stand anywhere, and errors read like those of
kubectl."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

from fairlead.cli import suggestions
from fairlead.cli.errors import UsageError
from fairlead.cli.parser import Help
from fairlead.codec.types.durations import DurationError, parse_duration

_TRUE = ("true", "1", "t", "T", "TRUE", "True")
_WITHOUT_EFFECT = "has no effect; scripts for kubectl give it"
_SYNTAX = ": invalid syntax"
_FALSE = ("false", "0", "f", "F", "FALSE", "False")


def parse_bool(text: str) -> bool | None:
    """Parse a boolean flag value; None if the text is not a boolean."""
    return True if text in _TRUE else False if text in _FALSE else None


class Switch(argparse.Action):
    """A boolean flag: `--watch`, and also `--watch=false`."""

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


class _Section(Protocol):
    def add_argument(self, *names: str, **settings: Any) -> argparse.Action: ...


class ArgumentReader(argparse.ArgumentParser):
    """The flags of one command. Raises UsageError where argparse would exit the process."""

    def __init__(self, *, words: Sequence[str] = (), **settings: Any) -> None:
        """`words` are the words to be read; commands with several forms choose their flags by
        them."""
        self.flags: dict[str, argparse.Action] = {}  # by each of their names
        self._positional: argparse.Action | None = None  # the first one
        self._section: _Section | None = None
        super().__init__(allow_abbrev=False, formatter_class=Help, exit_on_error=True, **settings)
        self.words = tuple(words)
        self.keeps_behind = False  # whether words after `--` are returned apart, in `behind`
        self._bare: dict[str, str] = {}

    def add_argument(self, *names: str, **settings: Any) -> argparse.Action:
        if "type" in settings:
            settings["type"] = _value_reader(names, settings["type"])
        add = self._section.add_argument if self._section else super().add_argument
        action = add(*names, **settings)
        self.flags |= dict.fromkeys(action.option_strings, action)
        if not action.option_strings and self._positional is None:
            self._positional = action
        return action

    def begin_section(self, title: str) -> None:
        """Let the flags that are added from now on stand under a title in the help."""
        self._section = self.add_argument_group(title)

    def add_switch(self, *names: str, help: str, **settings: Any) -> None:
        self.add_argument(*names, action=Switch, help=help, **settings)

    def add_choice(self, name: str, *, bare: str, help: str, **settings: Any) -> None:
        """Add a flag that takes its value only after `=`; without a value it means `bare`."""
        self.add_argument(name, help=help, **settings)
        self._bare[name] = f"{name}={bare}"

    def add_label_selector(self) -> None:
        self.add_argument(
            "-l",
            "--selector",
            metavar="LABELS",
            default="",
            help="only objects that match this label selector",
        )

    def add_without_effect(self, *names: str, value: str = "") -> None:
        """Add flags of kubectl that scripts may give, and that change nothing here; with `value`,
        they take one."""
        for name in names:
            if value:
                self.add_argument(name, metavar=value, default="", help=_WITHOUT_EFFECT)
            else:
                self.add_switch(name, help=_WITHOUT_EFFECT)

    def valued(self) -> set[str]:
        """The names of the flags that take the next word as their value."""
        return {
            name
            for name, action in self.flags.items()
            if action.nargs != 0 and name not in self._bare
        }

    def unused(self, names: Sequence[str]) -> list[str]:
        """The subset of these flag names that the command does not define."""
        return [name for name in names if name not in self.flags]

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Raises UsageError."""
        for word in words:
            if not word.isascii() and _is_bytes(word):
                raise UsageError(f"{word!a} is not UTF-8 text")
        own, off, behind = self._sorted(words)
        options, unknown = self.parse_known_intermixed_args(own)
        if unknown:
            raise UsageError(f"unexpected argument {unknown[0]!r}")
        for name in off:
            setattr(options, name, False)
        options.behind = behind if self.keeps_behind else []
        if behind and not self.keeps_behind:
            if self._positional is None:
                raise UsageError(f"unexpected argument {behind[0]!r}")
            dest = self._positional.dest
            setattr(options, dest, [*getattr(options, dest), *behind])
        return options

    def _sorted(self, words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
        """Split words for argparse: arguments and flags joined with their values, so that argparse
        cannot mistake a value for a flag; the names of switches set to false; the words after
        `--`."""
        own: list[str] = []
        off: list[str] = []
        waiting = list(reversed(words))
        while waiting:
            word = waiting.pop()
            if word == "--":
                return own, off, waiting[::-1]
            if word.startswith("-") and word != "-":
                self._sort_flag(word, waiting, own, off)
            else:
                own.append(word)
        return own, off, []

    def _sort_flag(self, word: str, waiting: list[str], own: list[str], off: list[str]) -> None:
        name, sign, value = word.partition("=")
        if not word.startswith("--"):  # short flags may be combined, with a value after the last
            name, sign, value = word[:2], "=" if word[2:] else "", word[2:].removeprefix("=")
        action = self.flags.get(name)
        if action is None:
            if word.startswith("--"):
                close = suggestions.similar_flags(name, self.flags)
                raise UsageError(f"unknown flag: {name}" + (f" ({close})" if close else ""))
            raise UsageError(f"unknown shorthand flag: {name[1:]!r} in {word}")
        if action.nargs == 0:
            if sign and not word.startswith("--") and word[2] != "=":
                waiting.append(f"-{value}")
                sign = ""
            self._sort_switch(action, name, value if sign else "true", own, off)
        elif isinstance(action.nargs, int) and action.nargs > 1:
            values = [*([value] if sign else []), *reversed(waiting)][: action.nargs]
            if len(values) < action.nargs:
                raise UsageError(f"flag needs {action.nargs} arguments: {name}")
            del waiting[len(waiting) - action.nargs + bool(sign) :]
            own += [name, *values]
        elif sign:
            own.append(f"{name}={value}")
        elif name in self._bare:
            own.append(self._bare[name])
        elif waiting:
            own.append(f"{name}={waiting.pop()}")
        elif name.startswith("--"):
            raise UsageError(f"flag needs an argument: {name}")
        else:
            raise UsageError(f"flag needs an argument: {name[1:]!r} in {word}")

    def _sort_switch(
        self, action: argparse.Action, name: str, value: str, own: list[str], off: list[str]
    ) -> None:
        is_on = parse_bool(value)
        if is_on is None:
            why = f'strconv.ParseBool: parsing "{value}"' + _SYNTAX
            raise _wrong_value(action.option_strings, value, why)
        if is_on:
            own.append(name)
            off[:] = [dest for dest in off if dest != action.dest]
        else:
            off.append(action.dest)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message.removeprefix("argument "))

    def print_help(self, file: Any = None) -> None:
        print(self.format_help(), end="", file=file or sys.stdout)


def _is_bytes(word: str) -> bool:
    """Whether the word has surrogates: bytes that are not UTF-8 and cannot be sent in a request."""
    return any("\ud800" <= letter <= "\udfff" for letter in word)


def _value_reader(names: Sequence[str], convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """The conversion of a flag's values, with errors that name the flag."""

    def read(text: str) -> Any:
        try:
            return convert(text)
        except argparse.ArgumentTypeError as error:
            why = str(error)
        except (TypeError, ValueError):
            parsing = "ParseFloat" if convert is float else "ParseInt"
            why = f'strconv.{parsing}: parsing "{text}"' + _SYNTAX
        raise _wrong_value(names, text, why)

    return read


def _wrong_value(names: Sequence[str], value: str, why: str) -> UsageError:
    return UsageError(f'invalid argument "{value}" for "{", ".join(names)}" flag: {why}')


def seconds(text: str) -> float:
    """Argparse `type` of duration flags: `5s`, `1m30s`, or a bare number of seconds."""
    bare = re.fullmatch(r"-?[0-9]+", text)
    try:
        return parse_duration(f"{text}s" if bare else text)
    except DurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
