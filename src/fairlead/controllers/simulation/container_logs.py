"""What simulated containers print: their logs, and the output that a client is attached to.

The output of a command that the simulation knows is computed with its times. Clients that follow it
get each piece when the clock has come to its time.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import datetime, timedelta

from fairlead.base import clock
from fairlead.base.caches import BoundedCache
from fairlead.base.errors import StatusError, bad_request
from fairlead.codec.types.times import format_time, parse_time
from fairlead.controllers.simulation.agent.containers import FAMILIES, state_of, status_of
from fairlead.controllers.simulation.behaviour import pod_behaviour
from fairlead.controllers.simulation.pod_changes import PodChanges
from fairlead.controllers.simulation.pod_sources import PodSources
from fairlead.controllers.simulation.runtime.commands import Commands
from fairlead.controllers.simulation.runtime.computing import ComputingTime
from fairlead.controllers.simulation.runtime.lifetimes import is_known, is_live
from fairlead.controllers.simulation.runtime.main_processes import MainProcess, Output, Run
from fairlead.controllers.simulation.runtime.sources import MissingSource
from fairlead.controllers.simulation.script import ScriptOf
from fairlead.operations.api import CommandStreams, LogOptions, Object

# Statuses have times in whole seconds.
_PRECISION = 1.0
_KEPT_RECORDS, _MAX_RECORD = 64, 64 * 1024  # bytes

_LOOK = 1.0  # seconds between two looks at the output of a live command

Line = tuple[datetime, str]
# The run of a live command, by pod, container, container ID and run. Raises MissingSource.
LiveRun = Callable[[Object, Object, str, Object], Run]
# The first process of a container by its pod and status, if somebody has talked to it.
KnownProcess = Callable[[Object, Object], MainProcess | None]


class ContainerLogs:
    """The logs of the containers of one server's simulated nodes."""

    def __init__(
        self,
        sources: PodSources,
        scripts: ScriptOf,
        changes: PodChanges,
        live_run: LiveRun,
        known_process: KnownProcess,
        computing: ComputingTime,
    ) -> None:
        self._sources = sources
        self._scripts = scripts
        self._changes = changes
        self._live_run = live_run
        self._known_process = known_process
        self._computing = computing
        self._commands = Commands(computing)
        # What containers printed that a client typed into, by container ID; lost with the server.
        self._records: BoundedCache[str, list[Output]] = BoundedCache(_KEPT_RECORDS)

    def read(self, pod: Object, container: str, options: LogOptions) -> bytes:
        """The log of a container. Raises StatusError."""
        return _selected(self._lines(pod, container, _run_of(pod, container, options)), options)

    def follow(
        self, pod: Object, container: str, options: LogOptions
    ) -> tuple[bytes, AsyncIterator[bytes]]:
        """The log of a container so far, and what it logs until it ends. Raises StatusError."""
        lines = self._lines(pod, container, _run_of(pod, container, options))
        text = _selected(lines, options)
        return text, self._later(pod, container, len(lines), options, len(text))

    async def _later(
        self, pod: Object, container: str, shown: int, options: LogOptions, size: int
    ) -> AsyncIterator[bytes]:
        async for current, run in self._runs(pod, container):
            text, shown = self._text_after(shown, current, container, run, options)
            if options.limit is not None:
                text = text[: max(0, options.limit - size)]
            size += len(text)
            if text:
                yield text
            if size == options.limit:
                return

    def _text_after(
        self, shown: int, pod: Object, container: str, run: Object, options: LogOptions
    ) -> tuple[bytes, int]:
        """What a run has logged after so many lines, and how many there are. The lines are not kept
        while a slow client reads."""
        lines = self._lines(pod, container, run)
        return _formatted(lines[shown:], options), max(shown, len(lines))

    async def attach(self, pod: Object, container: str, streams: CommandStreams) -> None:
        """Write what a container prints from now on, until it ends."""
        running = state_of(status_of(pod, container)).get("running") or {}
        if not running.get("startedAt"):
            return
        after = clock.time() - parse_time(running["startedAt"]).timestamp()
        async for current, run in self._runs(pod, container):
            outputs = self._outputs(current, container, run) or []
            new = [output for output in outputs if output.time > after]
            for output in new:
                after = output.time
                await streams.write(output.stream, output.data)

    def record(self, status: Object, stream: int, data: bytes) -> None:
        """Keep what a container printed to a client that types into it, as its log."""
        identity = status.get("containerID", "")
        began = parse_time(status["state"]["running"]["startedAt"]).timestamp()
        outputs = self._records.get(identity) or []
        outputs.append(Output(clock.time() - began, stream, data))
        while sum(len(output.data) for output in outputs) > _MAX_RECORD:
            outputs.pop(0)
        self._records.keep(identity, outputs, len(identity))

    async def _runs(self, pod: Object, container: str) -> AsyncIterator[tuple[Object, Object]]:
        """The pod and the state of a running container, again when it may have printed more, the
        last time when it has ended."""
        started = (state_of(status_of(pod, container)).get("running") or {}).get("startedAt")
        with self._changes.watch(pod) as changed:
            while started:
                await self._computing.turn(pod["metadata"]["namespace"])
                changed.clear()
                current = self._changes.current(pod)
                run = current and _run_since(status_of(current, container), started)
                if not current or not run:
                    return
                yield current, run
                if run.get("finishedAt") or self._changes.is_stopping:
                    return
                await _first_of(changed, self._pause(current, container, run))

    def _lines(self, pod: Object, container: str, run: Object) -> list[Line]:
        """The lines that a run of a container has logged so far."""
        with self._computing.measured(pod["metadata"]["namespace"]):
            outputs = self._outputs(pod, container, run)
            if outputs is None:
                return _general_lines(pod, container, run)
            return _output_lines(outputs, parse_time(run["startedAt"]))

    def _outputs(self, pod: Object, container: str, run: Object) -> list[Output] | None:
        """What a run of a container has printed so far; None if its command is not known."""
        outputs = self._all_outputs(pod, container, run)
        if outputs is None:
            return None
        begin = parse_time(run["startedAt"]).timestamp()
        if run.get("finishedAt"):
            end = parse_time(run["finishedAt"]).timestamp() - begin + _PRECISION
        else:
            end = clock.time() - begin
        return outputs[: bisect_right(outputs, end, key=lambda output: output.time)]

    def _all_outputs(self, pod: Object, container: str, run: Object) -> list[Output] | None:
        """What a run of a container prints, also what it has not come to yet."""
        started = run.get("startedAt")
        declared = declared_container(pod, container)
        behaviour = pod_behaviour(pod["metadata"].get("annotations")).of(container)
        is_simulated = is_known(declared, self._scripts(pod, container))
        if behaviour.log is not None or not is_simulated or not started:
            return None
        identity = _identity_of(pod, container, run)
        if recorded := self._records.get(identity):
            return recorded
        try:
            if is_live(pod, declared) or self._is_printed_to(pod, identity):
                return self._live_run(pod, declared, identity, run).outputs
            sources = self._sources.of(pod)
            return self._commands.run(pod, declared, started, sources, self._scripts).outputs
        except MissingSource:  # deleted after the start
            return []

    def _is_printed_to(self, pod: Object, identity: str) -> bool:
        """Whether hooks or clients have written into the log of a container."""
        main = self._known_process(pod, {"containerID": identity})
        return main is not None and main.is_printed_to

    def _pause(self, pod: Object, container: str, run: Object) -> float | None:
        """The seconds until a running container prints more, or may; None if only a client can make
        it print."""
        if is_live(pod, declared_container(pod, container)):
            return _LOOK
        elapsed = clock.time() - parse_time(run["startedAt"]).timestamp()
        outputs = self._all_outputs(pod, container, run) or []
        number = bisect_right(outputs, elapsed, key=lambda output: output.time)
        return outputs[number].time - elapsed if number < len(outputs) else None


async def _first_of(event: asyncio.Event, seconds: float | None) -> None:
    """Wait for an event, at most for so many seconds of the server's clock."""
    timer = clock.call_later(seconds, event.set) if seconds is not None else None
    try:
        await event.wait()
    finally:
        if timer is not None:
            timer.cancel()


def declared_container(pod: Object, name: str) -> Object:
    """A container as the spec of its pod has it."""
    for family, _ in FAMILIES:
        for container in pod["spec"].get(family) or ():
            if container["name"] == name:
                declared: Object = container
                return declared
    return {}


def _run_of(pod: Object, container: str, options: LogOptions) -> Object:
    """The run of a container whose log is requested: its state while or after it ran. Raises
    StatusError."""
    status = status_of(pod, container)
    state = state_of(status)
    if options.previous:
        state = status.get("lastState") or {}
        if "terminated" not in state:
            where = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
            raise bad_request(f"previous terminated {where} not found")
    elif "waiting" in state or not state:
        state = status.get("lastState") or {}
        if "terminated" not in state:
            raise _not_started(pod, container, status)
    run: Object = state.get("terminated") or state["running"]
    return run


def _run_since(status: Object, started: str) -> Object | None:
    """The run of a container that started at a time, while or after it ran."""
    for state in (state_of(status), status.get("lastState") or {}):
        for run in (state.get("running"), state.get("terminated")):
            if run and run.get("startedAt") == started:
                found: Object = run
                return found
    return None


def _identity_of(pod: Object, container: str, run: Object) -> str:
    """The ID of the container of a run."""
    identity: str = run.get("containerID") or status_of(pod, container).get("containerID") or ""
    return identity


def _not_started(pod: Object, container: str, status: Object) -> StatusError:
    reason = (state_of(status).get("waiting") or {}).get("reason") or "ContainerCreating"
    why = f"waiting to start: {reason}"
    if reason in ("ErrImagePull", "ImagePullBackOff"):
        why = "waiting to start: trying and failing to pull image"
    name = pod["metadata"]["name"]
    return bad_request(f'container "{container}" in pod "{name}" is {why}')


def _output_lines(outputs: Iterable[Output], begin: datetime) -> list[Line]:
    """The lines of outputs; a line has the time of its first character."""
    lines: list[Line] = []
    begun: list[str] = []  # the pieces of a line that has not ended
    since = begin
    for output in outputs:
        *ended_lines, rest = output.data.decode(errors="replace").split("\n")
        moment = begin + timedelta(seconds=output.time)
        for text in ended_lines:
            lines.append((since if begun else moment, "".join((*begun, text))))
            begun.clear()
        if rest:
            since = since if begun else moment
            begun.append(rest)
    return [*lines, (since, "".join(begun))] if begun else lines


def _general_lines(pod: Object, container: str, run: Object) -> list[Line]:
    """The lines of a container whose command is not known, or that an annotation gives."""
    start = parse_time(run.get("startedAt") or pod["metadata"]["creationTimestamp"])
    log = pod_behaviour(pod["metadata"].get("annotations")).of(container).log
    if log is not None:
        return [(start, line) for line in log]
    metadata = pod["metadata"]
    image = status_of(pod, container).get("image", "")
    pod_name = f"{metadata['namespace']}/{metadata['name']}"
    lines = [(start, f"{container} of {pod_name} started, image {image}")]
    if run.get("finishedAt"):
        text = f"{container} of {pod_name} ended with exit code {run.get('exitCode', 0)}"
        lines.append((parse_time(run["finishedAt"]), text))
    return lines


def _selected(lines: list[Line], options: LogOptions) -> bytes:
    if options.since is not None:
        since = options.since
        lines = [(moment, text) for moment, text in lines if moment >= since]
    if options.tail is not None:
        lines = lines[max(0, len(lines) - options.tail) :]
    return _formatted(lines, options)[: options.limit]


def _formatted(lines: Iterable[Line], options: LogOptions) -> bytes:
    shown = (
        f"{format_time(moment)} {text}\n" if options.timestamps else f"{text}\n"
        for moment, text in lines
    )
    return "".join(shown).encode()
