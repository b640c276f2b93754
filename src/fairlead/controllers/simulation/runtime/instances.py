"""The state of running containers for clients that talk to them: their files, and the process that
runs in them, as far as the clock has come.

It is kept in the memory of this server. A container that is not there yet, because the server was
restarted, gets the files that its own command wrote again; what clients wrote is lost.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import thread_time
from typing import NamedTuple

from fairlead.base import clock
from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.runtime.computing import SLICE, ComputingTime
from fairlead.controllers.simulation.runtime.container_start import (
    main_process,
    run_init_containers,
)
from fairlead.controllers.simulation.runtime.environment_files import file_references, reader
from fairlead.controllers.simulation.runtime.files import MAX_BYTES, Volume
from fairlead.controllers.simulation.runtime.main_processes import MainProcess
from fairlead.controllers.simulation.runtime.memory import Held, OutOfMemory
from fairlead.controllers.simulation.runtime.mounts import new_volume
from fairlead.controllers.simulation.runtime.process import (
    INTERRUPTED,
    Effect,
    Interrupted,
    Process,
    Read,
    Wait,
    Write,
    split_input,
    start_first,
)
from fairlead.controllers.simulation.runtime.scripted import finder
from fairlead.controllers.simulation.runtime.sources import Sources
from fairlead.controllers.simulation.runtime.surroundings import Network, NoNetwork, Surroundings
from fairlead.controllers.simulation.runtime.terminal import Pipes
from fairlead.controllers.simulation.script import ScriptOf

_KEPT_PODS = 256
_MAX_BYTES = 128 * 1024 * 1024  # of files of all containers
_SHARE = 4  # times as long as it computed, a busy program pauses


@dataclass(slots=True)
class _PodState:
    """`is_used`: a client or a hook may have written files, which nothing brings back. `ran` are
    the init containers that have left their files."""

    namespace: str
    is_used: bool = False
    ran: set[str] = field(default_factory=set)
    volumes: dict[str, Volume] = field(default_factory=dict)
    containers: dict[str, MainProcess] = field(default_factory=dict)

    @property
    def size(self) -> int:
        volumes = [
            *self.volumes.values(),
            *(each.process.files.root for each in self.containers.values()),
        ]
        return sum(volume.size for volume in volumes)


class _SharedVolume(NamedTuple):
    """A volume that outlives pods, and the namespace of the first pod that mounted it."""

    namespace: str
    volume: Volume


class Instances:
    """The running containers that clients have talked to or that are probed, the newest ones."""

    def __init__(
        self, scripts: ScriptOf, network_of: Callable[[Object], Network] = lambda pod: NoNetwork()
    ) -> None:
        self._scripts = scripts
        self.computing = ComputingTime()
        self._network_of = network_of
        # Called with the key of a pod whose process was told to stop.
        self.told: Callable[[str], None] = lambda key: None
        self._pods: OrderedDict[str, _PodState] = OrderedDict()
        # Volumes that outlive pods, by claim, or by node and path.
        self._shared: OrderedDict[tuple[str, str], _SharedVolume] = OrderedDict()

    def process(
        self,
        pod: Object,
        container: Object,
        status: Object,
        sources: Sources,
        words: list[str],
        *,
        is_probe: bool = False,
    ) -> Process:
        """A process with these arguments in a running container. Raises MissingSource."""
        main = self.main(pod, container, status, sources)
        if not is_probe:
            self._pods[pod["metadata"]["uid"]].is_used = True
        process = main.process.child(words)
        process.environment = {**process.environment, "TERM": "xterm"}
        process.find = finder(self._scripts(pod, container["name"]).commands)
        process.time = clock.time
        return process

    def main(self, pod: Object, container: Object, status: Object, sources: Sources) -> MainProcess:
        """The process of a running container, as far as the clock has come. Raises
        MissingSource."""
        namespace = pod["metadata"]["namespace"]
        with self.computing.measured(namespace):
            main = self._main(pod, container, status, sources)
            main.advance(clock.time() - main.began)
        return main

    def environment(self, pod: Object, container: Object, sources: Sources) -> Mapping[str, str]:
        """The variables that a container would start with. Raises MissingSource."""
        if not file_references(container):
            return sources.environment(container)
        state = self._state(pod)
        self._share(pod, state, sources)
        with self.computing.measured(state.namespace):
            run_init_containers(
                pod, container, sources, clock.time(), state.volumes, self._scripts, state.ran
            )
            return sources.environment(container, reader(pod, state.volumes))

    def _told(self, key: str) -> None:
        self.told(key)

    def known(self, pod: Object, identity: str) -> MainProcess | None:
        """The process of a container that clients have talked to, or that has ended meanwhile."""
        state = self._pods.get(pod["metadata"]["uid"])
        return None if state is None else state.containers.get(identity)

    def _main(
        self, pod: Object, container: Object, status: Object, sources: Sources
    ) -> MainProcess:
        state = self._state(pod)
        main = state.containers.get(status.get("containerID", ""))
        if main is None:
            run = status["state"].get("running") or status["state"]["terminated"]
            self._share(pod, state, sources)
            main = main_process(
                pod,
                container,
                sources,
                run["startedAt"],
                state.volumes,
                self._scripts,
                Surroundings(self._network_of(pod)),
                state.ran,
            )
            metadata = pod["metadata"]
            main.told = partial(self._told, f"{metadata['namespace']}/{metadata['name']}")
            state.containers[status.get("containerID", "")] = main
            self._make_room()
        elif state.is_used:
            self._make_room()
        return main

    def _state(self, pod: Object) -> _PodState:
        uid = pod["metadata"]["uid"]
        state = self._pods.setdefault(uid, _PodState(pod["metadata"]["namespace"]))
        self._pods.move_to_end(uid)
        return state

    def _share(self, pod: Object, state: _PodState, sources: Sources) -> None:
        """Give a pod the volumes that it shares with other pods. Raises MissingSource."""
        for declared in pod["spec"].get("volumes") or ():
            key = _shared_key(pod, declared, sources)
            if key is None or declared["name"] in state.volumes:
                continue
            shared = self._shared.get(key)
            if shared is None:
                shared = _SharedVolume(state.namespace, new_volume(pod, declared, sources))
                self._shared[key] = shared
            self._shared.move_to_end(key)
            state.volumes[declared["name"]] = shared.volume
        while len(self._shared) > 1:
            is_full = sum(each.volume.size for each in self._shared.values()) > _MAX_BYTES
            if not is_full and len(self._shared) <= _KEPT_PODS:
                return
            *others, _ = self._shared.items()
            largest = _largest(
                (each.namespace, each.volume.size if is_full else 1) for _, each in others
            )
            del self._shared[next(key for key, each in others if each.namespace == largest)]

    def _make_room(self) -> None:
        """Forget old pods of the namespace that has most, those first that can be made again."""
        while len(self._pods) > 1:
            sizes = [state.size for state in self._pods.values()]
            is_full = sum(sizes) > _MAX_BYTES
            if not is_full and len(sizes) <= _KEPT_PODS:
                return
            *others, _ = self._pods.items()
            shares = zip((state.namespace for _, state in others), sizes, strict=False)
            largest = _largest((name, size if is_full else 1) for name, size in shares)
            found = [(uid, state) for uid, state in others if state.namespace == largest]
            unused = (uid for uid, state in found if not state.is_used)
            del self._pods[next(unused, found[0][0])]


def _largest(amounts: Iterable[tuple[str, int]]) -> str:
    """The namespace that has the most."""
    shares: Counter[str] = Counter()
    for namespace, amount in amounts:
        shares[namespace] += amount
    return shares.most_common(1)[0][0]


def _shared_key(pod: Object, declared: Object, sources: Sources) -> tuple[str, str] | None:
    """What names a volume that several pods may mount; None for one of the pod's own."""
    if declared.get("hostPath") is not None:
        return pod["spec"].get("nodeName", ""), declared["hostPath"]["path"]
    claim = ""
    if declared.get("persistentVolumeClaim") is not None:
        claim = declared["persistentVolumeClaim"]["claimName"]
    elif declared.get("ephemeral") is not None:
        claim = f"{pod['metadata']['name']}-{declared['name']}"
    volume = sources.volume_of(claim) if claim else ""
    return ("", volume) if volume else None


async def run_live(
    process: Process, streams: Pipes, computing: ComputingTime, namespace: str
) -> int:
    """Run a process in real time with a client; returns its exit code."""
    program = start_first(process)
    pending = b""
    busy = 0.0
    try:
        await computing.turn(namespace)
        effect: Effect = next(program)
        while True:
            sent = b""
            try:
                if isinstance(effect, Read):
                    sent, pending = split_input(pending or await streams.read(), effect)
                elif isinstance(effect, Write):
                    unread = Held(MAX_BYTES * 2, process.files.memory)
                    if not unread.grow(len(effect.data)):
                        raise OutOfMemory
                    await streams.write(effect.stream, effect.data)
                elif isinstance(effect, Wait):
                    await streams.pause(min(effect.seconds, 10**9))
                if busy > SLICE:
                    computing.spend(namespace, busy)
                    await streams.pause(busy * _SHARE)
                    await computing.turn(namespace)
                    busy = 0.0
            except (Interrupted, OutOfMemory) as failed:
                effect = program.throw(failed)
                continue
            began = thread_time()
            effect = program.send(sent)
            busy += thread_time() - began
    except StopIteration as stop:
        return int(stop.value)
    except Interrupted:
        return INTERRUPTED
    finally:
        computing.spend(namespace, busy)
        streams.close()
        program.close()
