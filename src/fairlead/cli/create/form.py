"""The building blocks of the forms of `create`: flags, forms and their input."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.cli.arguments import Options
from fairlead.cli.errors import CommandError
from fairlead.client import Client

Object = dict[str, Any]


class Flag(NamedTuple):
    """A flag of one form; with `many` it can be repeated."""

    name: str
    help: str
    value: str = "VALUE"
    many: bool = False
    switch: bool = False
    default: Any = ""
    short: str = ""


@dataclass(frozen=True, slots=True)
class FormArguments:
    """The input of a builder: the name of the new object, the flags, and the client."""

    name: str
    options: Options
    client: Client
    dialect: Dialect

    def text(self, flag: str) -> str:
        return str(getattr(self.options, flag) or "")

    def required(self, flag: str) -> str:
        """The value of a required flag; raises CommandError if it is missing."""
        if not self.text(flag):
            raise CommandError(f"--{flag.replace('_', '-')} is missing")
        return self.text(flag)

    def number(self, flag: str) -> int:
        """The value of an integer flag; raises CommandError."""
        text = str(getattr(self.options, flag))
        try:
            return int(text)
        except ValueError:
            raise CommandError(
                f'invalid argument "{text}" for "--{flag.replace("_", "-")}" flag:'
                f' strconv.ParseInt: parsing "{text}": invalid syntax'
            ) from None

    def values(self, flag: str) -> list[str]:
        """All values of a repeatable flag, split at commas."""
        return [part for value in getattr(self.options, flag) for part in value.split(",") if part]


@dataclass(frozen=True, slots=True)
class Form:
    """One way to create an object. `failure` precedes errors of the server; with `has_command` the
    words after `--` are the command to run."""

    help: str
    build: Callable[[FormArguments], Awaitable[Object]]
    flags: tuple[Flag, ...] = ()
    failure: str = ""
    has_command: bool = False


def pairs(texts: list[str], wrong: str) -> dict[str, str]:
    """Parse `key=value` texts; raises CommandError with `wrong` formatted with the invalid text."""
    fields: dict[str, str] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise CommandError(wrong.format(text))
        fields[key] = value
    return fields
