"""How a command ends early."""

from __future__ import annotations


class UsageError(Exception):
    """A command that was not understood; the text says why."""


class CommandFailed(Exception):
    """A command cannot go on; the text, if any, is shown as it is."""

    def __init__(self, text: str = "", code: int = 1) -> None:
        super().__init__(text)
        self.code = code


class Mistake(CommandFailed):
    """A command that asks for what cannot be; the text is told as an error."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(f"error: {text}", code)
