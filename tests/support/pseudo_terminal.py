"""Commands whose output and errors go to a terminal."""

from __future__ import annotations

import os
import pty
import threading
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from fairlead.cli import main
from support.commands import Commands


def seen_on_terminal(commands: Commands, *words: str, width: int = 120, **environment: str) -> str:
    """Return everything that a command writes to a terminal of some width."""
    flags = ("--kubeconfig", str(commands.config), "-n", commands.space.name)
    return shown_on_terminal(*flags, *words, width=width, **environment)


def shown_on_terminal(*words: str, width: int = 120, **environment: str) -> str:
    """Like `seen_on_terminal`, for words that select the server themselves."""
    ours, theirs = pty.openpty()
    received: list[bytes] = []

    def read() -> None:
        while True:
            try:
                received.append(os.read(ours, 65536))
            except OSError:  # the other side was closed
                return

    reader = threading.Thread(target=read)
    reader.start()
    settings = {"COLUMNS": str(width), "TERM": "xterm", "NO_COLOR": "", **environment}
    with (
        mock.patch.dict(os.environ, settings),
        open(theirs, "w") as screen,
        redirect_stdout(screen),
        redirect_stderr(screen),
    ):
        main([*words])
    reader.join()
    os.close(ours)
    return b"".join(received).decode().replace("\r\n", "\n")
