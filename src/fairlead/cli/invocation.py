"""The state of one run of a command: its options, its client and its output."""

from __future__ import annotations

import os
import sys
from typing import TextIO, cast

from fairlead.base.terminal import OWN, GuardedStream, guarded, printable
from fairlead.cli.arguments import Options
from fairlead.cli.connection_flags import access_of
from fairlead.cli.errors import UsageError
from fairlead.client import Client

# Standard output and standard error of a command, which may be a terminal.

RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN = "31", "32", "33", "34", "35", "36"
BOLD, DIM = "1", "2"
_MAX_DIGITS = 6  # of COLUMNS
_COLOURS = {"auto": None, "always": True, "never": False}


class Screen:
    """The output of a command. Uses colour only on a terminal, and not if `NO_COLOR` is set, unless
    `use_colour` decides."""

    def __init__(self, out: TextIO | None = None, errors: TextIO | None = None) -> None:
        self.out = guarded(out or sys.stdout)
        self.errors = guarded(errors or sys.stderr)
        self._colour: bool | None = None

    def use_colour(self, when: str) -> None:
        """Use colour always, never or, for auto, as usual; raises UsageError for other words."""
        if when not in _COLOURS:
            raise UsageError(f"--color={when} is unknown: it takes {', '.join(_COLOURS)}")
        self._colour = _COLOURS[when]
        if self._colour and not isinstance(self.out, GuardedStream):
            self.out = cast(TextIO, GuardedStream(self.out))

    @property
    def is_terminal(self) -> bool:
        return self.out.isatty()

    @property
    def width(self) -> int:
        """The columns of the terminal at this moment; 0 if there is none, or they are unknown."""
        if not self.is_terminal:
            return 0
        wanted = os.environ.get("COLUMNS", "")
        if wanted.isascii() and wanted.isdigit() and len(wanted) < _MAX_DIGITS and int(wanted):
            return int(wanted)
        try:
            return os.get_terminal_size(self.out.fileno()).columns
        except (OSError, ValueError):
            return 0

    @property
    def has_colour(self) -> bool:
        if self._colour is not None:
            return self._colour
        return (
            self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )

    def print(self, text: str = "") -> None:
        self.out.write(text + "\n")

    def flush(self) -> None:
        self.out.flush()

    def warn(self, text: str) -> None:
        self.errors.write(text + "\n")
        self.errors.flush()


# Coloured text, if the terminal supports it.


class Paint:
    """Callable that wraps text in colour codes; returns it unchanged without colour support."""

    def __init__(self, screen: Screen) -> None:
        self._on = screen.has_colour

    def __call__(self, text: str, *codes: str) -> str:
        if not self._on or not codes or not text:
            return text
        return f"{OWN}[{';'.join(codes)}m{text}{OWN}[0m"


class Invocation:
    """The flags of a command, its output, and its client, which is created on first use."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.screen = Screen()
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """Raises AccessError."""
        if self._client is None:
            self._client = Client(access_of(self.options))
            self._client.session.on_warning = self._warn
        return self._client

    async def check_uid(self) -> None:
        """Reject --as-uid in dialects whose command line has no such flag; raises UsageError."""
        if not self.options.as_uid:
            return
        dialect = await self.client.discovery.dialect()
        if dialect.command_line_without_uid:
            raise UsageError(
                f"unknown flag: --as-uid (servers of the dialect {dialect.name} take a user and"
                " groups from the command line, but no uid)"
            )

    def _warn(self, text: str) -> None:
        self.screen.warn(f"Warning: {printable(text)}")

    @property
    def namespace(self) -> str:
        """The namespace of objects that name none."""
        return self.options.namespace or self.client.namespace

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
