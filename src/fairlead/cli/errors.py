"""Exceptions that end a command early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlead.client.errors import NotFound


class UsageError(Exception):
    """Invalid command line; the text says why."""


class CommandFailed(Exception):
    """The command cannot continue. The text, if any, is printed unchanged; `code` is the exit
    code, `missing` are objects that the server did not find."""

    def __init__(self, text: str = "", code: int = 1, missing: Sequence[NotFound] = ()) -> None:
        super().__init__(text)
        self.code = code
        self.missing = missing


class CommandError(CommandFailed):
    """The command requests something impossible; the text is printed after "error: "."""

    def __init__(self, text: str, code: int = 1, missing: Sequence[NotFound] = ()) -> None:
        super().__init__(f"error: {text}", code, missing)
