"""Commands whose output and errors go to a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from contextlib import redirect_stderr, redirect_stdout
from typing import Self
from unittest import mock

from fairlead.cli import main
from support.commands import Commands

_PATIENCE = 30.0


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


class TerminalSession:
    """A command that talks with a terminal: its keys are typed, its screen is read."""

    def __init__(self, commands: Commands, *words: str, size: tuple[int, int] = (100, 30)) -> None:
        self._screen, self._theirs = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self._theirs)
        self._seen = b""
        flags = ("--kubeconfig", str(commands.config), "-n", commands.space.name)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fairlead", *flags, *words],
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def until(self, text: str) -> str:
        """Return what is seen up to a text that has to come."""
        ends = time.monotonic() + _PATIENCE
        while text.encode() not in self._seen:
            assert select.select([self._screen], [], [], ends - time.monotonic())[0], self._seen
            self._seen += os.read(self._screen, 65536)
        seen, _, self._seen = self._seen.partition(text.encode())
        return seen.decode() + text

    def wait(self) -> int:
        """Return the exit code, when the command has ended and given the terminal back."""
        code = self.process.wait(_PATIENCE)
        assert termios.tcgetattr(self._theirs) == self.before
        return code

    def rest(self) -> str:
        """Return what is seen beyond the last text that had to come."""
        while select.select([self._screen], [], [], 0)[0]:
            self._seen += os.read(self._screen, 65536)
        return self._seen.decode()

    def is_raw(self) -> bool:
        return not termios.tcgetattr(self._theirs)[3] & termios.ICANON

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.process.kill()
        self.process.wait(_PATIENCE)
        os.close(self._screen)
        os.close(self._theirs)
