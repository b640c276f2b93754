"""The first processes of containers: what they print, and when and how they end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import thread_time
from typing import NamedTuple

from fairlead.base import clock
from fairlead.controllers.simulation.runtime.lifetimes import FOREVER
from fairlead.controllers.simulation.runtime.process import (
    STDERR,
    Effect,
    Process,
    Program,
    Read,
    SignalArrived,
    Wait,
    Write,
    start_first,
)

# A program that takes more than this without waiting runs on without output. Steps come first for
# ordinary programs, so that the pace of a machine does not decide how they end.
_MAX_STEPS, _MAX_CPU_SECONDS = 2_000, 0.1
_SLICE = 0.02  # seconds that a live program computes before other work gets a turn
_FEW_CONTAINERS = 4  # beyond them, the containers of a pod share the time of these
MAX_OUTPUT = 64 * 1024  # bytes; older output is dropped


class Output(NamedTuple):
    """What a container wrote, and when, in seconds after its start."""

    time: float
    stream: int
    data: bytes


@dataclass(slots=True)
class Run:
    """A run of a container's command. `end` is how far it came, in seconds after the start; at
    last when it ends, FOREVER if it does not end by itself."""

    outputs: list[Output] = field(default_factory=list)
    end: float = 0.0
    code: int = 0
    message: str = ""  # what it leaves for the status of its container


class MainProcess:
    """The process of a container. It runs as far as it is told to; a live one not beyond the
    present."""

    def __init__(
        self,
        process: Process,
        began: float,
        *,
        is_live: bool = False,
        has_input: bool = False,
        containers: int = 1,
    ) -> None:
        self.process = process
        self._has_input = has_input  # clients may type something
        self._seconds = _MAX_CPU_SECONDS * min(1.0, _FEW_CONTAINERS / containers)
        self.began = began
        self.run = Run()
        self.is_live = is_live
        self.stop_at = FOREVER  # when it ends because it was told to, with `_stop_code`
        self._stop_code = 0
        self.told: Callable[[], None] = lambda: None  # called when it is told to end
        process.time = lambda: clock.time() if self.run.end == FOREVER else began + self.run.end
        self.is_printed_to = False  # other processes have written into its log
        if process.signals is not None:
            process.surroundings.log = self._log
            process.surroundings.write = self._write
            process.surroundings.stop = self._stop
            process.surroundings.run = run_beside
        self._program: Program | None = start_first(process)
        self._effect: Effect | None = None
        self._size = self._steps = 0
        self._busy = 0.0  # seconds of computing since it waited last
        self._is_running = False

    @property
    def has_ended(self) -> bool:
        return self._program is None and self.run.end != FOREVER

    @property
    def is_understood(self) -> bool:
        """Whether all that it has run so far are programs that the simulation knows."""
        return self._program is not None and not self.process.surroundings.has_unknown

    def advance(self, until: float) -> None:
        """Run until a time, in seconds after the start, or to the end; a live program not longer
        than its slice. Does nothing if the program is running: it may have called itself."""
        if self._is_running:
            return
        self._is_running = True
        try:
            self._advance(until)
        finally:
            self._is_running = False

    def _advance(self, until: float) -> None:
        run, began = self.run, thread_time()
        last = began
        while self._program is not None and run.end <= until and run.end != FOREVER:
            self._step(self._program)
            moment = thread_time()
            self._busy += moment - last
            last = moment
            if self.is_live and moment - began > _SLICE:
                return
        if self.stop_at <= until and not self.has_ended:
            self._close()
            run.end, run.code = self.stop_at, self._stop_code

    def _log(self, line: str) -> None:
        """Log what a server does, now."""
        moment = clock.time()
        text = f"{datetime.fromtimestamp(moment, UTC):%Y/%m/%d %H:%M:%S} {line}\n"
        self._keep(Output(moment - self.began, STDERR, text.encode(errors="replace")))

    def _write(self, stream: int, data: bytes, moment: float) -> None:
        self.is_printed_to = True
        self._keep(Output(moment - self.began, stream, data[-MAX_OUTPUT:]))

    def _stop(self, code: int, seconds: float) -> None:
        self.stop_at, self._stop_code = clock.time() - self.began + seconds, code
        self.told()

    def _close(self) -> None:
        if self._program is not None:
            self._program.close()
            self._program = None

    def terminate(self, at: float) -> Run | None:
        """SIGTERM arrives so many seconds after the start. Returns the run if that ends it."""
        self.advance(at)
        run, signals = self.run, self.process.signals
        if self.has_ended:
            return run
        if signals is not None and signals.runs_unknown:
            return Run(run.outputs, at)
        if signals is None or not signals.traps.get("TERM"):
            return None
        if self._program is None:  # it took too many steps
            return Run(run.outputs, at)
        signals.is_pending = True
        if signals.is_waiting:
            run.end = at
            self._step(self._program, SignalArrived())
        self.advance(FOREVER)
        return run if self.has_ended else None

    def _step(self, program: Program, signal: SignalArrived | None = None) -> None:
        run = self.run
        try:
            if signal is not None:
                effect = program.throw(signal)
            else:
                effect = next(program) if self._effect is None else program.send(b"")
            self._effect = effect
        except StopIteration as stop:
            run.code = int(stop.value)
            self._program = None
            return
        self._steps += 1
        if isinstance(effect, Wait):
            run.end += effect.seconds
            if self.is_live and effect.seconds:
                self._steps, self._busy = 0, 0.0
        elif isinstance(effect, Write) and effect.data:
            self._keep(Output(run.end, effect.stream, effect.data[-MAX_OUTPUT:]))
        is_busy = self._steps >= _MAX_STEPS or self._busy > self._seconds
        if is_busy or (isinstance(effect, Read) and self._has_input):
            run.end = FOREVER
            self._close()

    def _keep(self, output: Output) -> None:
        outputs = self.run.outputs
        outputs.append(output)
        self._size += len(output.data)
        while self._size > MAX_OUTPUT:
            self._size -= len(outputs.pop(0).data)


def run_beside(process: Process, words: list[str]) -> tuple[int, str]:
    """Run a command in the container of a process; its exit code and what it writes."""
    beside = MainProcess(process.child(words), clock.time())
    beside.advance(FOREVER)
    written = b"".join(output.data for output in beside.run.outputs)
    return beside.run.code, written.decode(errors="replace")
