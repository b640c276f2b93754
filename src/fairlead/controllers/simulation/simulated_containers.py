"""Answers for simulated containers: logs, exec and attach. Port forwarding is refused."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from fairlead.base import clock
from fairlead.base.errors import StatusError, bad_request
from fairlead.codec.types.times import format_time, now, parse_time
from fairlead.controllers.simulation.agent.containers import Moment, ended, state_of
from fairlead.controllers.simulation.agent.pods import FAMILIES
from fairlead.controllers.simulation.behaviour import pod_behaviour
from fairlead.controllers.simulation.pod_sources import PodSources
from fairlead.controllers.simulation.runtime.commands import (
    Commands,
    Output,
    command_of,
    is_known,
)
from fairlead.controllers.simulation.runtime.instances import Instances, run_live
from fairlead.controllers.simulation.runtime.process import STDERR, start
from fairlead.controllers.simulation.runtime.sources import MissingSource
from fairlead.controllers.simulation.runtime.terminal import INTERRUPTED, Interrupted, Terminal
from fairlead.controllers.simulation.simulated_nodes import PODS, SimulatedNodes
from fairlead.operations.api import Api, CommandStreams, LogOptions, Object
from fairlead.storage.version import Change


class SimulatedContainers:
    """Responds for containers on simulated nodes, also if another server runs the simulation. The
    owner must pass pod events to `changed`."""

    def __init__(self, api: Api, simulated_nodes: SimulatedNodes) -> None:
        self._simulated_nodes = simulated_nodes
        self._sources = PodSources(api)
        self._commands = Commands()
        self._instances = Instances()
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._stopping = False

    def has(self, node: str) -> bool:
        return node in self._simulated_nodes

    def refusal(self, what: str) -> StatusError:
        text = f"{what} is not possible: the node is simulated, no container runs on it"
        return StatusError(501, "NotImplemented", text)

    def log(self, pod: Object, container: str, options: LogOptions) -> bytes:
        """The log of a container. Raises StatusError."""
        status = _status_of(pod, container)
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
        lines = self._lines(pod, container, status, state)
        return _selected(lines, options)

    def _lines(
        self, pod: Object, container: str, status: Object, state: Object
    ) -> list[tuple[datetime, str]]:
        """The lines that a container has logged, with times."""
        declared = _declared(pod, container)
        behaviour = pod_behaviour(pod["metadata"].get("annotations")).of(container)
        run = state.get("terminated") or state["running"]
        if behaviour.log is not None or not is_known(declared) or not run.get("startedAt"):
            return _lines(pod, container, status, state)
        started = run["startedAt"]
        try:
            command = self._commands.run(pod, declared, started, self._sources.of(pod))
        except MissingSource:  # deleted after the start
            return []
        begin = parse_time(started)
        end = parse_time(run["finishedAt"]) if run.get("finishedAt") else clock.now()
        outputs = (
            output for output in command.outputs if output.time <= (end - begin).total_seconds() + 1
        )
        return _output_lines(outputs, begin)

    def check_running(self, pod: Object, container: str) -> None:
        if "running" not in state_of(_status_of(pod, container)):
            raise StatusError(404, "NotFound", f'container not found ("{container}")')

    async def execute(
        self,
        pod: Object,
        container: str,
        words: list[str],
        streams: CommandStreams,
        *,
        has_terminal: bool,
    ) -> int:
        declared, status = _declared(pod, container), _status_of(pod, container)
        is_attached = not words
        if is_attached and not declared.get("stdin"):
            await self.end_of(pod, container)
            return 0
        words = words or command_of(declared) or ["sh"]
        try:
            sources = self._sources.of(pod)
            process = self._instances.process(pod, declared, status, sources, words)
        except MissingSource as missing:
            await streams.write(STDERR, f"{missing}\n".encode())
            return 1
        process.has_terminal = has_terminal
        try:
            code = await run_live(start(process), Terminal(streams) if has_terminal else streams)
        except Interrupted:
            code = INTERRUPTED
        if is_attached:
            await self._end(pod, container, code)
        return code

    async def _end(self, pod: Object, container: str, code: int) -> None:
        """End a container whose own process a client was attached to."""
        moment = Moment(clock.time(), now())

        def change(current: Object) -> Object:
            status = dict(current["status"])
            for _, family in FAMILIES:
                if status.get(family):
                    status[family] = [
                        ended(each, code, moment)
                        if each["name"] == container and "running" in state_of(each)
                        else each
                        for each in status[family]
                    ]
            return {**current, "status": status}

        client = self._simulated_nodes.client(pod["spec"]["nodeName"])
        metadata = pod["metadata"]
        with suppress(StatusError):  # deleted meanwhile
            await client.change(
                PODS, metadata["namespace"], metadata["name"], change, "status", "patch"
            )

    async def end_of(self, pod: Object, container: str) -> None:
        """Wait until a running container stops, or the server shuts down."""
        metadata = pod["metadata"]
        key = f"{metadata['namespace']}/{metadata['name']}"
        client = self._simulated_nodes.client(pod["spec"]["nodeName"])
        changed = asyncio.Event()
        self._waiting[key].add(changed)
        try:
            while not self._stopping:
                changed.clear()
                current = client.find(PODS, metadata["namespace"], metadata["name"])
                if current is None or current["metadata"]["uid"] != metadata["uid"]:
                    return
                if "running" not in state_of(_status_of(current, container)):
                    return
                await changed.wait()
        finally:
            self._waiting[key].discard(changed)
            if not self._waiting[key]:
                del self._waiting[key]

    def stop_waiting(self) -> None:
        self._stopping = True
        for waiting in self._waiting.values():
            _wake(waiting)

    def changed(self, change: Change) -> None:
        _wake(self._waiting.get(change.key, ()))


def _wake(waiting: Iterable[asyncio.Event]) -> None:
    for changed in waiting:
        changed.set()


def _status_of(pod: Object, container: str) -> Object:
    for _, family in FAMILIES:
        for container_status in pod["status"].get(family) or ():
            if container_status["name"] == container:
                found_status: Object = container_status
                return found_status
    return {}


def _declared(pod: Object, name: str) -> Object:
    for family, _ in FAMILIES:
        for container in pod["spec"].get(family) or ():
            if container["name"] == name:
                declared: Object = container
                return declared
    return {}


def _output_lines(outputs: Iterable[Output], begin: datetime) -> list[tuple[datetime, str]]:
    """The lines of outputs; a line has the time of its first character."""
    lines: list[tuple[datetime, str]] = []
    is_complete = True
    for output in outputs:
        moment = begin + timedelta(seconds=output.time)
        for piece in output.data.decode(errors="replace").splitlines(keepends=True):
            if is_complete:
                lines.append((moment, piece.rstrip("\n")))
            else:
                lines[-1] = (lines[-1][0], lines[-1][1] + piece.rstrip("\n"))
            is_complete = piece.endswith("\n")
    return lines


def _not_started(pod: Object, container: str, status: Object) -> StatusError:
    reason = (state_of(status).get("waiting") or {}).get("reason") or "ContainerCreating"
    why = f"waiting to start: {reason}"
    if reason in ("ErrImagePull", "ImagePullBackOff"):
        why = "waiting to start: trying and failing to pull image"
    name = pod["metadata"]["name"]
    return bad_request(f'container "{container}" in pod "{name}" is {why}')


def _lines(
    pod: Object, container: str, status: Object, state: Object
) -> list[tuple[datetime, str]]:
    """The lines that a container has logged, with times."""
    end = state.get("terminated")
    run = end or state["running"]
    start = parse_time(run.get("startedAt") or pod["metadata"]["creationTimestamp"])
    log = pod_behaviour(pod["metadata"].get("annotations")).of(container).log
    if log is not None:
        return [(start, line) for line in log]
    metadata = pod["metadata"]
    pod_name = f"{metadata['namespace']}/{metadata['name']}"
    lines = [(start, f"{container} of {pod_name} started, image {status.get('image', '')}")]
    if end is not None and end.get("finishedAt"):
        text = f"{container} of {pod_name} ended with exit code {end.get('exitCode', 0)}"
        lines.append((parse_time(end["finishedAt"]), text))
    return lines


def _selected(lines: list[tuple[datetime, str]], options: LogOptions) -> bytes:
    if options.since is not None:
        since = options.since
        lines = [(moment, text) for moment, text in lines if moment >= since]
    if options.tail is not None:
        lines = lines[max(0, len(lines) - options.tail) :]
    selected = (
        f"{format_time(moment)} {text}\n" if options.timestamps else f"{text}\n"
        for moment, text in lines
    )
    return "".join(selected).encode()[: options.limit]
