"""The commands of simulated containers: what they print, and when and how they end.

Nothing of it is stored. A run is computed from the pod's spec and the time at which the container
started, so every server comes to the same result, also after a restart.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import thread_time
from typing import NamedTuple

from fairlead.base.caches import BoundedCache
from fairlead.codec.types.model import Object
from fairlead.codec.types.times import parse_time
from fairlead.controllers.simulation.runtime.files import Files, LiveVolume, Mount, Volume
from fairlead.controllers.simulation.runtime.process import (
    Effect,
    Process,
    Program,
    Read,
    Wait,
    Write,
    start,
)
from fairlead.controllers.simulation.runtime.programs import PROGRAMS, find_program
from fairlead.controllers.simulation.runtime.sources import Sources, expand, hostname_of

FOREVER = float("inf")
SHORT_LIFE = 1.0  # seconds that an unknown program runs in a pod that is to finish
# A program that takes more than this runs on without output.
_MAX_STEPS, _MAX_CPU_SECONDS = 2_000, 0.02
_MAX_OUTPUT = 64 * 1024  # bytes; older output is dropped
_KEPT_RUNS = 1_000


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


def default_lifetime(pod: Object, container: Object) -> float:
    """The lifetime of a program that the simulation does not know. Those of init containers end
    at once, those of pods that are to finish after a second."""
    initial = any(each is container for each in pod["spec"].get("initContainers") or ())
    if initial and container.get("restartPolicy") != "Always":
        return 0.0
    if pod["spec"].get("restartPolicy", "Always") == "Always" or initial:
        return FOREVER
    return SHORT_LIFE


def command_of(container: Object) -> list[str]:
    """The command of a container. Arguments alone are taken for one: images of shells have no other
    entry point."""
    return [*(container.get("command") or ()), *(container.get("args") or ())]


def is_known(container: Object) -> bool:
    """Whether the simulation knows the command of a container."""
    command = command_of(container) or [""]
    return posixpath.basename(command[0]) in PROGRAMS


class Commands:
    """The runs of the containers of one server's simulated nodes."""

    def __init__(self) -> None:
        self._runs: BoundedCache[tuple[str, str, str], Run] = BoundedCache(
            _KEPT_RUNS, max_bytes=32 * 1024 * 1024, longest=_MAX_OUTPUT * 2, per_byte=1
        )

    def run(self, pod: Object, container: Object, started: str, sources: Sources) -> Run:
        """The run of a container that started at a time. Raises MissingSource."""
        key = pod["metadata"]["uid"], container["name"], started
        run = self._runs.get(key)
        if run is None:
            process = main_process(pod, container, sources, started, {})
            process.advance(FOREVER)
            run = process.run
            size = sum(len(output.data) for output in run.outputs)
            self._runs.keep(key, run, size)
        return run


def main_process(
    pod: Object, container: Object, sources: Sources, started: str, volumes: dict[str, Volume]
) -> MainProcess:
    """The process of a container, at its start. The init containers before it run first if they
    may leave files for it. Raises MissingSource."""
    began = parse_time(started).timestamp()
    for each in pod["spec"].get("initContainers") or ():
        if each is container:
            break
        if is_known(each) and _shares_volumes(pod, each, container):
            MainProcess(_process(pod, each, sources, volumes), began).advance(FOREVER)
    return MainProcess(_process(pod, container, sources, volumes), began)


def _shares_volumes(pod: Object, first: Object, second: Object) -> bool:
    names = [
        {mount["name"] for mount in each.get("volumeMounts") or ()} for each in (first, second)
    ]
    shared = names[0] & names[1]
    return any(
        volume["name"] in shared and volume.get("emptyDir") is not None
        for volume in pod["spec"].get("volumes") or ()
    )


class MainProcess:
    """The process of a container. It runs as far as it is told to."""

    def __init__(self, process: Process, began: float) -> None:
        self.process = process
        self.began = began
        self.run = Run()
        process.time = lambda: began + self.run.end
        self._program: Program | None = start(process)
        self._effect: Effect | None = None
        self._size = self._steps = 0

    def advance(self, until: float) -> None:
        """Run until a time, in seconds after the start, or to the end."""
        run, started = self.run, thread_time()
        while self._program is not None and run.end <= until:
            try:
                effect = next(self._program) if self._effect is None else self._program.send(b"")
            except StopIteration as stop:
                run.code = int(stop.value)
                self._program = None
                return
            self._effect = effect
            self._steps += 1
            if isinstance(effect, Wait):
                run.end += effect.seconds
            elif isinstance(effect, Write) and effect.data:
                self._keep(Output(run.end, effect.stream, effect.data[-_MAX_OUTPUT:]))
            is_busy = self._steps >= _MAX_STEPS or thread_time() - started > _MAX_CPU_SECONDS
            if is_busy or (isinstance(effect, Read) and self.process.has_terminal):
                run.end = FOREVER
            if run.end == FOREVER:
                self._program.close()
                self._program = None

    def _keep(self, output: Output) -> None:
        outputs = self.run.outputs
        outputs.append(output)
        self._size += len(output.data)
        while self._size > _MAX_OUTPUT:
            self._size -= len(outputs.pop(0).data)


def _process(
    pod: Object, container: Object, sources: Sources, volumes: dict[str, Volume]
) -> Process:
    """The main process of a container. Raises MissingSource."""
    files = Files(mounts_of(pod, container, sources, volumes))
    environment = sources.environment(container)
    lifetime = default_lifetime(pod, container)

    def find(process: Process) -> Program:
        return find_program(process) or _unknown(lifetime)

    return Process(
        [expand(word, environment) for word in command_of(container) or ("",)],
        files,
        environment,
        hostname_of(pod),
        find,
        container.get("workingDir") or "/",
        has_terminal=bool(container.get("stdin")),
    )


def _unknown(lifetime: float) -> Program:
    yield Wait(lifetime)
    return 0


def mounts_of(
    pod: Object, container: Object, sources: Sources, volumes: dict[str, Volume]
) -> list[Mount]:
    """The mounts of a container. `volumes` are those that containers of the pod write to, by name;
    missing ones are added."""
    by_name = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    mounts = []
    for mount in container.get("volumeMounts") or ():
        declared = by_name.get(mount["name"])
        if declared is None:
            continue
        volume = volumes.get(mount["name"])
        if volume is None:
            volume = volumes[mount["name"]] = _volume(declared, sources)
        inside = "/" + (mount.get("subPath") or "").strip("/")
        path = posixpath.normpath(mount["mountPath"])
        mounts.append(Mount(path, volume, inside, bool(mount.get("readOnly"))))
    return mounts


def _volume(declared: Mapping[str, Object], sources: Sources) -> Volume:
    if any(
        declared.get(kind) is not None
        for kind in ("configMap", "secret", "downwardAPI", "projected")
    ):
        volume = LiveVolume(lambda: sources.files(dict(declared)) or {})
        volume.refresh()
        return volume
    return Volume()
