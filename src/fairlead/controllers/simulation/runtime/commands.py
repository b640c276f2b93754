"""The commands of simulated containers: what they print, and when and how they end.

Nothing of it is stored. A run is computed from the pod's spec and the time at which the container
started, so every server comes to the same result, also after a restart.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fairlead.base.caches import BoundedCache
from fairlead.codec.types.model import Object
from fairlead.codec.types.times import parse_time
from fairlead.controllers.simulation.runtime.files import Files, LiveVolume, Mount, Volume
from fairlead.controllers.simulation.runtime.process import (
    Effect,
    Process,
    Program,
    Wait,
    Write,
    start,
)
from fairlead.controllers.simulation.runtime.programs import PROGRAMS, find_program
from fairlead.controllers.simulation.runtime.sources import Sources, expand, hostname_of

FOREVER = float("inf")
SHORT_LIFE = 1.0  # seconds that an unknown program runs in a pod that is to finish
_MAX_STEPS = 5_000  # of one run; a program that takes more runs on without output
_MAX_OUTPUT = 64 * 1024  # bytes; older output is dropped
_KEPT_RUNS = 1_000


class Output(NamedTuple):
    """What a container wrote, and when, in seconds after its start."""

    time: float
    stream: int
    data: bytes


@dataclass(slots=True)
class Run:
    """A run of a container's command from its start to its end. `end` is in seconds after the
    start, FOREVER if it does not end by itself."""

    outputs: list[Output] = field(default_factory=list)
    end: float = 0.0
    code: int = 0


def default_lifetime(pod: Object, container: Object) -> float:
    """How long a program runs that the simulation does not know. Programs of init containers end
    at once, those of pods that are to finish after a second."""
    initial = any(each is container for each in pod["spec"].get("initContainers") or ())
    if initial and container.get("restartPolicy") != "Always":
        return 0.0
    if pod["spec"].get("restartPolicy", "Always") == "Always" or initial:
        return FOREVER
    return SHORT_LIFE


def is_known(container: Object) -> bool:
    """Whether the simulation knows the command of a container."""
    command = container.get("command") or [""]
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
            began = parse_time(started).timestamp()
            run = _planned(pod, container, sources, began, {})
            size = sum(len(output.data) for output in run.outputs)
            self._runs.keep(key, run, size)
        return run


def _planned(
    pod: Object, container: Object, sources: Sources, began: float, volumes: dict[str, Volume]
) -> Run:
    """Run a command to its end. The init containers before it run first, because they may leave
    files in volumes that it reads."""
    for each in pod["spec"].get("initContainers") or ():
        if each is container or (not volumes and not _shares_volumes(pod, each, container)):
            break
        if is_known(each):
            _run_through(_process(pod, each, sources, began, volumes), Run())
    run = Run()
    process = _process(pod, container, sources, began, volumes)
    process.time = lambda: began + run.end
    _run_through(process, run)
    return run


def _shares_volumes(pod: Object, first: Object, second: Object) -> bool:
    names = [
        {mount["name"] for mount in each.get("volumeMounts") or ()} for each in (first, second)
    ]
    shared = names[0] & names[1]
    return any(
        volume["name"] in shared and volume.get("emptyDir") is not None
        for volume in pod["spec"].get("volumes") or ()
    )


def _run_through(process: Process, run: Run) -> None:
    program = start(process)
    size = steps = 0
    try:
        effect: Effect = next(program)
        while steps < _MAX_STEPS:
            steps += 1
            if isinstance(effect, Wait):
                run.end += effect.seconds
                if run.end == FOREVER:
                    return
            elif isinstance(effect, Write) and effect.data:
                run.outputs.append(Output(run.end, effect.stream, effect.data[-_MAX_OUTPUT:]))
                size += len(run.outputs[-1].data)
                while size > _MAX_OUTPUT:
                    size -= len(run.outputs.pop(0).data)
            effect = program.send(b"")  # nobody types
        run.end = FOREVER
    except StopIteration as stop:
        run.code = int(stop.value)
    finally:
        program.close()


def _process(
    pod: Object, container: Object, sources: Sources, began: float, volumes: dict[str, Volume]
) -> Process:
    """The main process of a container. Raises MissingSource."""
    files = Files(mounts_of(pod, container, sources, volumes))
    environment = sources.environment(container)
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    lifetime = default_lifetime(pod, container)

    def find(process: Process) -> Program:
        return find_program(process) or _unknown(lifetime)

    return Process(
        [expand(word, environment) for word in words],
        files,
        environment,
        hostname_of(pod),
        find,
        container.get("workingDir") or "/",
        lambda: began,
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
