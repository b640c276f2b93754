"""What a simulated program may do.

A program is a generator: it yields what it wants to do (write, read, wait) and returns its exit
code. So the same program runs in real time for `kubectl exec`, and as far as the clock has come for
the command of a container.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from time import thread_time
from typing import NamedTuple

from fairlead.base.logs import Logger
from fairlead.controllers.simulation.runtime.files import FileError, Files
from fairlead.controllers.simulation.runtime.memory import Held, OutOfMemory
from fairlead.controllers.simulation.runtime.surroundings import Surroundings

logger = Logger("fairlead.controllers.simulation")

STDOUT, STDERR = 1, 2
NOT_FOUND, NOT_EXECUTABLE, INTERRUPTED = 127, 126, 130
_ABORTED = 134
_STEP_SECONDS, _STEP_BYTES = 0.002, 64 * 1024  # of one write of a text that is computed
_MAX_DEPTH = 30  # of programs that start each other
_MAX_ARGUMENTS = 10_000
_MAX_HELD = 128 * 1024 * 1024  # bytes that a process works on


class Write(NamedTuple):
    """Write to a stream."""

    stream: int
    data: bytes


class Read(NamedTuple):
    """Wait for input. The driver sends at least one byte, or none at the end of the input; with
    `is_line`, nothing beyond the end of a line."""

    is_line: bool = False


class Wait(NamedTuple):
    """Let time pass; `float("inf")` waits until the process is killed."""

    seconds: float


class Step(NamedTuple):
    """One step of computing. Drivers count steps, and stop programs that take too many."""


Effect = Write | Read | Wait | Step
Program = Generator[Effect, bytes, int]
Reading = Generator[Effect, bytes, bytes]


class SignalArrived(Exception):
    """A signal ends what a shell waits for."""


class Interrupted(Exception):
    """Ctrl-C was typed. It ends what runs in the terminal, but for an interactive shell."""


@dataclass(slots=True)
class Signals:
    """What the first process of a container does with signals. `traps` are the commands of its
    shell by signal; without one, a shell or one of the known programs ignores SIGTERM, as the
    kernel lets the first process of a container do."""

    traps: dict[str, str] = field(default_factory=dict)
    is_pending: bool = False  # SIGTERM arrived, its trap has not run yet
    is_waiting: bool = False  # in `wait`, which a signal ends
    runs_unknown: bool = False  # a program that is taken to end on SIGTERM


class Identity(NamedTuple):
    """The numbers of a process's user and groups."""

    user: int = 0
    group: int = 0
    others: tuple[int, ...] = ()


ROOT = Identity()


@dataclass(slots=True)
class Process:
    """A program's arguments (the first is its name), and its surroundings. `find` returns the
    program of a name, or None. Only the first process of a container has `signals`. `depth` is how
    many processes stand between it and that one."""

    arguments: list[str]
    files: Files
    environment: dict[str, str]
    hostname: str
    find: Callable[[Process], Program | None]
    directory: str = "/"
    has_terminal: bool = False  # somebody may type
    time: Callable[[], float] = field(default=lambda: 0.0)
    identity: Identity = ROOT
    signals: Signals | None = None
    surroundings: Surroundings = field(default_factory=Surroundings)
    depth: int = 0
    _held: Held | None = None

    def child(self, arguments: list[str], **environment: str) -> Process:
        """A process that this one starts."""
        return Process(
            arguments,
            self.files,
            {**self.environment, **environment},
            self.hostname,
            self.find,
            self.directory,
            self.has_terminal,
            self.time,
            self.identity,
            surroundings=self.surroundings,
            depth=self.depth + 1,
        )

    def hold(self, size: int) -> None:
        """Take memory until the process has ended. Raises OutOfMemory."""
        if self._held is None:
            self._held = Held(_MAX_HELD, self.files.memory)
        if not self._held.grow(size):
            raise OutOfMemory

    def path(self, name: str) -> str:
        return self.files.absolute(name, self.directory)

    def read_files(self, names: Iterable[str], limit: int) -> Reading:
        """The first `limit` bytes of files together. Raises FileError."""
        data = bytearray()
        for name in names:
            yield Step()
            content = self.files.read(self.path(name))[: limit - len(data)]
            self.hold(len(content))
            data += content
        return bytes(data)


def output(text: str) -> Write:
    return Write(STDOUT, text.encode(errors="surrogateescape"))


def error(text: str) -> Write:
    return Write(STDERR, text.encode(errors="surrogateescape"))


def written(texts: Iterable[str]) -> Generator[Effect, bytes, None]:
    """Write texts that are computed one by one. As many as fit into a short time are one step."""
    batch: list[str] = []
    size, began = 0, thread_time()
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= _STEP_BYTES or thread_time() - began >= _STEP_SECONDS:
            yield output("".join(batch))
            batch.clear()
            size, began = 0, thread_time()
    yield output("".join(batch))


def start(process: Process) -> Program:
    """Run the program that the arguments name."""
    if process.depth > _MAX_DEPTH:
        yield error(f"{process.arguments[0]}: nested too deeply\n")
        return 1
    if len(process.arguments) > _MAX_ARGUMENTS:
        yield error(f"{process.arguments[0]}: Argument list too long\n")
        return NOT_EXECUTABLE
    program = process.find(process)
    if program is None:
        yield error(f"{process.arguments[0]}: not found\n")
        return NOT_FOUND
    try:
        return (yield from program)
    except FileError as failed:  # a name that no file can have
        yield error(f"{process.arguments[0]}: {failed}\n")
        return 1


def start_first(process: Process) -> Program:
    """Run the first program of a client or a container. Programs that start each other without an
    end, or walk too deep, fail. One that raises is a fault of ours: it ends as if it had
    crashed."""
    try:
        return (yield from start(process))
    except RecursionError:
        yield error(f"{process.arguments[0]}: nested too deeply\n")
    except OutOfMemory:
        yield error(f"{process.arguments[0]}: out of memory\n")
    except (Interrupted, SignalArrived):
        raise
    except Exception:
        logger.exception("a simulated program failed", program=process.arguments[0][:40])
        yield error(f"{process.arguments[0]}: aborted\n")
        return _ABORTED
    return 1


def read_all(process: Process, limit: int) -> Reading:
    """Read the input to its end, at most `limit` bytes."""
    chunks: list[bytes] = []
    size = 0
    while size < limit and (data := (yield Read())):
        data = data[: limit - size]
        process.hold(len(data))
        size += len(data)
        chunks.append(data)
    return b"".join(chunks)


def split_input(data: bytes, effect: Read) -> tuple[bytes, bytes]:
    """What to send for a Read, and what is left."""
    end = data.find(b"\n") + 1 if effect.is_line else 0
    return (data[:end], data[end:]) if end else (data, b"")


def redirected(
    program: Program,
    data: bytes | None = None,
    sinks: Mapping[int, Callable[[bytes], None] | int] = {},
) -> Program:
    """Run a program with other input, if `data` is not None, and with output streams that go to a
    function or to another stream."""
    try:
        effect = next(program)
        while True:
            sent = b""
            if isinstance(effect, Read) and data is not None:
                sent, data = split_input(data, effect)
            elif isinstance(effect, Write) and effect.stream in sinks:
                sink = sinks[effect.stream]
                if isinstance(sink, int):
                    yield Write(sink, effect.data)
                else:
                    sink(effect.data)
                    yield Step()
            else:
                sent = yield effect
            effect = program.send(sent)
    except StopIteration as stop:
        return int(stop.value)
    finally:
        program.close()
