"""The flags of client commands: they may stand anywhere, and errors read like those of kubectl."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Literal

from fairlead.cli import help_pages, suggestions
from fairlead.cli.errors import UsageError
from fairlead.codec.types.durations import DurationError, parse_duration

_TRUE = ("true", "1", "t", "T", "TRUE", "True")
_WITHOUT_EFFECT = "has no effect; scripts for kubectl give it"
_SYNTAX = ": invalid syntax"
_FALSE = ("false", "0", "f", "F", "FALSE", "False")
_HELP = ("-h", "--help")


def parse_bool(text: str) -> bool | None:
    """Parse a boolean flag value; None if the text is not a boolean."""
    return True if text in _TRUE else False if text in _FALSE else None


class Options(SimpleNamespace):
    """The words of a command and the values of its flags, by name."""


class Flag:
    """A flag; without names, the words of a command. `nargs` is the number of values it takes: 0
    for a switch, `--watch` and also `--watch=false`. With a `bare` value, that comes only after
    `=`."""

    def __init__(
        self,
        names: Sequence[str],
        dest: str,
        *,
        nargs: int | Literal["*"] = 1,
        type: Callable[[str], Any] = str,
        action: Literal["store", "append"] = "store",
        default: Any = None,
        bare: str | None = None,
        metavar: str | None = None,
        help: str = "",
    ) -> None:
        self.names = names
        self.dest = dest
        self.nargs = nargs
        self.type = type
        self.is_repeated = action == "append"
        self.default = default
        self.bare = bare
        self.metavar = metavar
        self.help = help

    def converted(self, text: str) -> Any:
        """Raises UsageError."""
        try:
            return self.type(text)
        except DurationError as error:
            why = str(error)
        except (TypeError, ValueError):
            parsing = "ParseFloat" if self.type is float else "ParseInt"
            why = f'strconv.{parsing}: parsing "{text}"' + _SYNTAX
        raise self._wrong_value(text, why)

    def is_on(self, text: str) -> bool:
        """The value of a switch; raises UsageError."""
        value = parse_bool(text)
        if value is None:
            why = f'strconv.ParseBool: parsing "{text}"' + _SYNTAX
            raise self._wrong_value(text, why)
        return value

    def _wrong_value(self, text: str, why: str) -> UsageError:
        return UsageError(f'invalid argument "{text}" for "{", ".join(self.names)}" flag: {why}')


class ArgumentReader:
    """The flags of one command."""

    def __init__(
        self,
        *,
        words: Sequence[str] = (),
        prog: str = "",
        usage: str = "",
        description: str = "",
        add_help: bool = True,
    ) -> None:
        """`words` are the words to be read; commands with several forms choose their flags by
        them."""
        self.prog = prog
        self.usage = usage
        self.description = description
        self.epilog = ""
        self.words = tuple(words)
        self.keeps_behind = False  # whether words after `--` are returned apart, in `behind`
        self.flags: dict[str, Flag] = {}  # by each of their names
        self.sections: dict[str, list[Flag]] = {"": []}  # by their titles in the help
        self._section = self.sections[""]
        self._words_name = ""  # of the words that are no flags; empty if there are none
        self._defaults: dict[str, Any] = {}
        if add_help:
            self.add_switch(*_HELP, help="show this help message and exit", default=None)

    def add_argument(self, *names: str, dest: str = "", **settings: Any) -> None:
        """Add a flag, or the words of the command. `settings` are those of Flag."""
        named = tuple(name for name in names if name.startswith("-"))
        first = next((name for name in names if name.startswith("--")), names[0])
        flag = Flag(named, dest or first.lstrip("-").replace("-", "_"), **settings)
        self.flags |= dict.fromkeys(named, flag)
        self._section.append(flag)
        self._defaults.setdefault(flag.dest, flag.default)
        if not named:
            self._words_name = flag.dest

    def set_defaults(self, **values: Any) -> None:
        """Set options that are no flags of this command."""
        self._defaults |= values

    def begin_section(self, title: str) -> None:
        """Let the flags that are added from now on stand under a title in the help."""
        self._section = self.sections.setdefault(title, [])

    def add_switch(
        self, *names: str, help: str, default: bool | None = False, dest: str = ""
    ) -> None:
        self.add_argument(*names, nargs=0, help=help, default=default, dest=dest)

    def add_choice(self, name: str, *, bare: str, help: str, **settings: Any) -> None:
        """Add a flag that takes its value only after `=`; without a value it means `bare`."""
        self.add_argument(name, bare=bare, help=help, **settings)

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
        return {name for name, flag in self.flags.items() if flag.nargs != 0 and flag.bare is None}

    def unused(self, names: Sequence[str]) -> list[str]:
        """The subset of these flag names that the command does not define."""
        return [name for name in names if name not in self.flags]

    def read(self, words: Sequence[str]) -> Options:
        """Raises UsageError. Prints the help and exits if a flag asks for it."""
        for word in words:
            if not word.isascii() and _is_bytes(word):
                raise UsageError(f"{word!a} is not UTF-8 text")
        own, found, behind = self._sorted(words)
        options = Options(**self._defaults)
        for flag, value in found:
            self._set(options, flag, value)
        options.behind = behind if self.keeps_behind else []
        if not self.keeps_behind:
            own += behind
        if self._words_name:
            setattr(options, self._words_name, own)
        elif own:
            raise UsageError(f"unexpected argument {own[0]!r}")
        return options

    def _set(self, options: Options, flag: Flag, value: Any) -> None:
        if flag is self.flags.get(_HELP[-1]) and value:
            print(self.format_help(), end="")
            sys.exit(0)
        if flag.nargs == 1:
            value = flag.converted(value)
        if flag.is_repeated:
            value = [*(getattr(options, flag.dest) or ()), value]
        setattr(options, flag.dest, value)

    def _sorted(self, words: Sequence[str]) -> tuple[list[str], list[tuple[Flag, Any]], list[str]]:
        """Split words: those that are no flags; flags with their values; the words after `--`."""
        own: list[str] = []
        found: list[tuple[Flag, Any]] = []
        waiting = list(reversed(words))
        while waiting:
            word = waiting.pop()
            if word == "--":
                return own, found, waiting[::-1]
            if word.startswith("-") and word != "-":
                found.append(self._with_value(word, waiting))
            else:
                own.append(word)
        return own, found, []

    def _with_value(self, word: str, waiting: list[str]) -> tuple[Flag, Any]:
        """The flag that a word begins with, and its values, of which some are in `waiting`."""
        name, sign, value = word.partition("=")
        if not word.startswith("--"):  # short flags may be combined, with a value after the last
            name, sign, value = word[:2], "=" if word[2:] else "", word[2:].removeprefix("=")
        flag = self.flags.get(name)
        if flag is None:
            if word.startswith("--"):
                close = suggestions.similar_flags(name, self.flags)
                raise UsageError(f"unknown flag: {name}" + (f" ({close})" if close else ""))
            raise UsageError(f"unknown shorthand flag: {name[1:]!r} in {word}")
        if flag.nargs == 0:
            if sign and not word.startswith("--") and word[2] != "=":
                waiting.append(f"-{value}")
                sign = ""
            return flag, flag.is_on(value if sign else "true")
        if isinstance(flag.nargs, int) and flag.nargs > 1:
            values = [*([value] if sign else []), *reversed(waiting)][: flag.nargs]
            if len(values) < flag.nargs or any(text.startswith("-") for text in values):
                raise UsageError(f"flag needs {flag.nargs} arguments: {name}")
            del waiting[len(waiting) - flag.nargs + bool(sign) :]
            return flag, values
        if sign:
            return flag, value
        if flag.bare is not None:
            return flag, flag.bare
        if waiting:
            return flag, waiting.pop()
        if name.startswith("--"):
            raise UsageError(f"flag needs an argument: {name}")
        raise UsageError(f"flag needs an argument: {name[1:]!r} in {word}")

    def format_help(self) -> str:
        return help_pages.help_page(self)


def _is_bytes(word: str) -> bool:
    """Whether the word has surrogates: bytes that are not UTF-8 and cannot be sent in a request."""
    return any("\ud800" <= letter <= "\udfff" for letter in word)


def seconds(text: str) -> float:
    """The `type` of duration flags: `5s`, `1m30s`, or a bare number of seconds."""
    bare = re.fullmatch(r"-?[0-9]+", text)
    return parse_duration(f"{text}s" if bare else text)
