"""Argument parser of server-side commands: help with defaults, errors on one line."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from fairlead.cli import suggestions

if TYPE_CHECKING:
    from fairlead.cli.arguments import Flag

_COLUMN = 34
_WIDTH = 100
_MAX_WORD_LENGTH = 300
_FLAGS = r"(?m)^  (-\S+(?:, -\S+)*)"  # in the help


class Parser(argparse.ArgumentParser):
    """Prints errors on one line with a hint to --help and exits with code 2."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=Help, **settings)

    def error(self, message: str) -> NoReturn:
        text = message.removeprefix("argument ").replace("\n", " ")
        self.exit(2, f"{self.prog}: {text} (see {self.prog} --help)\n")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Exits for unknown arguments, with a suggestion for a mistyped flag."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._unknown(unknown[0]))
        return options, unknown

    def _unknown(self, word: str) -> str:
        name = word.partition("=")[0][:_MAX_WORD_LENGTH]
        if not name.startswith("-"):
            return f"unexpected argument {name!r}"
        shown = (
            names for line in re.findall(_FLAGS, self.format_help()) for names in line.split(", ")
        )
        return suggestions.unknown_flag(name, shown)


class Help(argparse.HelpFormatter):
    """Formats flags in one column, with their defaults."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_COLUMN, width=_WIDTH)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Keep line breaks; fill only lines that are not indented."""
        fill = super()._fill_text
        return "\n".join(
            line if line.startswith(" ") else fill(line, width, indent)
            for line in text.splitlines()
        )

    def _get_help_string(self, action: argparse.Action) -> str:
        default = shown_default(action)
        text = f"{action.help} (default {default})" if default else action.help or ""
        return text.replace("%", "%%")

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


_NUMBERS = ("RATE", "SHARE")  # metavars of plain fractions; other floats are seconds


def shown_default(action: argparse.Action | Flag) -> str:
    """The default as it would be typed; empty if there is none."""
    value = action.default
    if value is None or value in ("", [], argparse.SUPPRESS):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if action.metavar in _NUMBERS else f"{value:g}s"
    return str(value)


def complain(program: str, message: str) -> None:
    """Print an error message as one line to stderr."""
    print(f"{program}: {' '.join(message.split())}", file=sys.stderr)
