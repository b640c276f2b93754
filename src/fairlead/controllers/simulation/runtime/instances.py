"""The state of running containers for clients that talk to them: their files, and the process that
runs in them, as far as the clock has come.

It is kept in the memory of this server. A container that is not there yet, because the server was
restarted, gets the files that its own command wrote again; what clients wrote is lost.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from time import thread_time

from fairlead.base import clock
from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.runtime.commands import MainProcess, main_process
from fairlead.controllers.simulation.runtime.files import Volume
from fairlead.controllers.simulation.runtime.process import (
    Effect,
    Process,
    Program,
    Read,
    Wait,
    Write,
    split_input,
)
from fairlead.controllers.simulation.runtime.programs import find_program
from fairlead.controllers.simulation.runtime.sources import Sources
from fairlead.operations.api import CommandStreams

_KEPT_PODS = 256
_MAX_BYTES = 128 * 1024 * 1024  # of files of all containers
_SLICE = 0.003  # seconds that a program computes before other work gets a turn
_SHARE = 4  # times as long as it computed, a busy program pauses


@dataclass(slots=True)
class _PodState:
    volumes: dict[str, Volume] = field(default_factory=dict)
    containers: dict[str, MainProcess] = field(default_factory=dict)

    @property
    def size(self) -> int:
        volumes = [
            *self.volumes.values(),
            *(each.process.files.root for each in self.containers.values()),
        ]
        return sum(volume.size for volume in volumes)


class Instances:
    """The running containers that clients have talked to, the newest ones."""

    def __init__(self) -> None:
        self._pods: OrderedDict[str, _PodState] = OrderedDict()

    def process(
        self, pod: Object, container: Object, status: Object, sources: Sources, words: list[str]
    ) -> Process:
        """A process with these arguments in a running container. Raises MissingSource."""
        main = self._main(pod, container, status, sources)
        main.advance(clock.time() - main.began)
        process = main.process.child(words)
        process.environment = {**process.environment, "TERM": "xterm"}
        process.find = find_program
        process.time = clock.time
        return process

    def _main(
        self, pod: Object, container: Object, status: Object, sources: Sources
    ) -> MainProcess:
        uid = pod["metadata"]["uid"]
        state = self._pods.setdefault(uid, _PodState())
        self._pods.move_to_end(uid)
        main = state.containers.get(status.get("containerID", ""))
        if main is None:
            started = status["state"]["running"]["startedAt"]
            main = main_process(pod, container, sources, started, state.volumes)
            state.containers[status.get("containerID", "")] = main
        while len(self._pods) > 1 and (
            len(self._pods) > _KEPT_PODS
            or sum(each.size for each in self._pods.values()) > _MAX_BYTES
        ):
            self._pods.popitem(last=False)
        return main


async def run_live(program: Program, streams: CommandStreams) -> int:
    """Run a program in real time with a client; returns its exit code."""
    pending = b""
    busy = 0.0
    try:
        effect: Effect = next(program)
        while True:
            sent = b""
            if isinstance(effect, Read):
                sent, pending = split_input(pending or await streams.read(), effect)
            elif isinstance(effect, Write):
                await streams.write(effect.stream, effect.data)
            elif isinstance(effect, Wait):
                await asyncio.sleep(min(effect.seconds, 10**9))
            began = thread_time()
            effect = program.send(sent)
            busy += thread_time() - began
            if busy > _SLICE:
                await asyncio.sleep(busy * _SHARE)
                busy = 0.0
    except StopIteration as stop:
        return int(stop.value)
    finally:
        program.close()
