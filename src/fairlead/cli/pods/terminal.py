"""Connects a process in a container with the standard streams of a command."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from typing import TextIO

from fairlead.base.terminal import unguarded, write_bytes
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.client import Unreachable
from fairlead.client.processes import STDERR, RemoteProcess, Streams

_PIECE = 32 * 1024
_KILLED = 128  # what shells add to the number of a signal
_NO_TERMINAL = "-t does nothing here: standard input is not a terminal"


def streams_of(invocation: Invocation) -> Streams:
    """The streams by the flags -i and -t. A terminal needs one on our side, too."""
    options = invocation.options
    has_terminal = bool(options.tty and options.stdin)
    if has_terminal and not _is_terminal(sys.stdin):
        has_terminal = False
        if not options.quiet:
            invocation.screen.warn(_NO_TERMINAL)
    return Streams(stdin=options.stdin, stderr=not has_terminal, tty=has_terminal)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


async def converse(invocation: Invocation, process: RemoteProcess, streams: Streams) -> int:
    """Pass on input and output until the process ends, and return its exit code. With a terminal
    the output is passed on as it is. Raises ApiError and Unreachable."""
    screen = invocation.screen
    screen.flush()
    with ExitStack() as stack:
        if streams.tty:
            stack.enter_context(_raw_terminal(sys.stdin.fileno()))
            stack.enter_context(_resizing(process))
        if streams.stdin:
            stack.enter_context(_feeding(process))
        while (piece := await process.read()) is not None:
            number, data = piece
            if streams.tty:
                write_bytes(unguarded(screen.out), data)
            else:
                write_bytes(screen.errors if number == STDERR else screen.out, data)
        return await process.wait()


# The terminal


@contextmanager
def _raw_terminal(descriptor: int) -> Iterator[None]:
    """Pass on every key as it is; also Ctrl-C, which the process in the container gets. Signals
    that would end this program give the terminal back first."""
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor, termios.TCSADRAIN)
    try:
        with _ended_by(signal.SIGTERM, signal.SIGHUP):
            yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextmanager
def _ended_by(*signals: signal.Signals) -> Iterator[None]:
    """End the command when one of the signals comes, after its cleanup; raises CommandFailed."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    if task is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def end(number: int) -> None:
        received.append(number)
        task.cancel()

    for number in signals:
        loop.add_signal_handler(number, end, number)
    try:
        yield
    except asyncio.CancelledError:
        if not received:
            raise
        task.uncancel()
        raise CommandFailed(code=_KILLED + received[0]) from None
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


@contextmanager
def _resizing(process: RemoteProcess) -> Iterator[None]:
    """Tell the process the size of the terminal, now and when it changes."""
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    async def tell() -> None:
        with suppress(OSError, Unreachable):
            columns, rows = os.get_terminal_size(sys.stdin.fileno())
            await process.resize(columns, rows)

    def changed() -> None:
        task = loop.create_task(tell())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    changed()
    is_main = threading.current_thread() is threading.main_thread()
    if is_main:
        loop.add_signal_handler(signal.SIGWINCH, changed)
    try:
        yield
    finally:
        if is_main:
            loop.remove_signal_handler(signal.SIGWINCH)
        for task in tasks:
            task.cancel()


# Standard input


@contextmanager
def _feeding(process: RemoteProcess) -> Iterator[None]:
    """Pass on standard input while the block runs, from a thread: not every input can be
    awaited."""
    feed = _Feed(process)
    threading.Thread(target=feed.run, name="standard-input", daemon=True).start()
    try:
        yield
    finally:
        feed.stop()


class _Feed:
    def __init__(self, process: RemoteProcess) -> None:
        self._process = process
        self._source = sys.stdin
        self._loop = asyncio.get_running_loop()
        self._stopped, self._stop = os.pipe()

    def run(self) -> None:
        try:
            with suppress(OSError, ValueError, Unreachable, CancelledError):
                while (data := self._next()) is not None:
                    self._pass_on(data)
                    if not data:
                        break
        finally:
            os.close(self._stopped)

    def _pass_on(self, data: bytes) -> None:
        """Raises CancelledError if the program ends meanwhile."""
        sending = self._process.write(data) if data else self._process.end_input()
        try:
            future = asyncio.run_coroutine_threadsafe(sending, self._loop)
        except RuntimeError:  # the loop is closed
            sending.close()
            raise CancelledError from None
        future.result()

    def stop(self) -> None:
        os.close(self._stop)

    def _next(self) -> bytes | None:
        """The next input, b"" at its end, None if the process has ended."""
        source = self._source
        if source is None:
            return b""
        try:
            descriptor = source.fileno()
        except (OSError, ValueError):  # text in memory
            return source.read().encode()
        readable, _, _ = select.select([descriptor, self._stopped], [], [])
        return None if self._stopped in readable else os.read(descriptor, _PIECE)
