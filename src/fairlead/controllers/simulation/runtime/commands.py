"""The commands of simulated containers: what they print, and when and how they end.

Nothing of it is stored. A run is computed from the pod's spec and the time at which the container
started, so every server comes to the same result, also after a restart.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import thread_time
from typing import NamedTuple

from fairlead.base import clock
from fairlead.base.caches import BoundedCache
from fairlead.codec.types.model import Object
from fairlead.codec.types.times import parse_time
from fairlead.controllers.simulation.runtime.computing import ComputingTime
from fairlead.controllers.simulation.runtime.environment_files import file_references, reader
from fairlead.controllers.simulation.runtime.files import FileError, Files, Volume
from fairlead.controllers.simulation.runtime.images import command_of, image_of, own_port
from fairlead.controllers.simulation.runtime.kernel_files import limits_mount, process_files
from fairlead.controllers.simulation.runtime.memory import memory_of
from fairlead.controllers.simulation.runtime.mounts import mounts_of, write_system_files
from fairlead.controllers.simulation.runtime.network_programs import NETWORK_PROGRAMS
from fairlead.controllers.simulation.runtime.process import (
    STDERR,
    Effect,
    Identity,
    Process,
    Program,
    Read,
    SignalArrived,
    Signals,
    Wait,
    Write,
    start_first,
)
from fairlead.controllers.simulation.runtime.programs import PROGRAMS, SERVERS, find_program
from fairlead.controllers.simulation.runtime.scripted import (
    find_entry,
    scripted,
    write_files,
)
from fairlead.controllers.simulation.runtime.sources import (
    Room,
    Sources,
    expand,
    hostname_of,
)
from fairlead.controllers.simulation.runtime.surroundings import Surroundings
from fairlead.controllers.simulation.script import Script, ScriptOf
from fairlead.controllers.workloads.owners import controller_among

FOREVER = float("inf")
_OF_SERVERS = ("ports", "startupProbe", "livenessProbe", "readinessProbe")
SHORT_LIFE = 1.0  # seconds that an unknown program runs in a pod that is to finish
# A program that takes more than this without waiting runs on without output.
_MAX_STEPS, _MAX_CPU_SECONDS, _MAX_LIVE_CPU_SECONDS = 2_000, 0.02, 0.1
_SLICE = 0.02  # seconds that a live program computes before other work gets a turn
_FEW_CONTAINERS = 4  # beyond them, the containers of a pod share the time of these
_MAX_OUTPUT = 64 * 1024  # bytes; older output is dropped
_KEPT_RUNS = 1_000
_MAX_CONTAINERS = 50  # of a pod whose init containers leave files for the others
_FAMILIES = ("initContainers", "containers", "ephemeralContainers")
_MESSAGE_PATH = "/dev/termination-log"
_MAX_MESSAGE, _MAX_MESSAGE_LINES = 4096, 80  # bytes, and lines of a log


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


def default_lifetime(pod: Object, container: Object) -> float:
    """The lifetime of a program that the simulation does not know. Those of init containers end
    at once, those of pods that are to finish after a second unless they are servers."""
    initial = any(each is container for each in pod["spec"].get("initContainers") or ())
    if initial and container.get("restartPolicy") != "Always":
        return 0.0
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Always" or initial or is_server(pod, container):
        return FOREVER
    return SHORT_LIFE


def is_server(pod: Object, container: Object) -> bool:
    """Whether a container declares ports or probes, as programs have that do not end, or has the
    image of a server. The programs of a Job are to end, whatever they declare."""
    if own_port(container) is not None:
        return True
    declares = any(container.get(name) for name in _OF_SERVERS)
    return declares and not _is_of_job(pod)


def _is_of_job(pod: Object) -> bool:
    owner = controller_among(pod["metadata"].get("ownerReferences"))
    return owner is not None and owner["kind"] == "Job" and owner["apiVersion"].startswith("batch/")


def is_known(container: Object, script: Script) -> bool:
    """Whether the simulation knows the command of a container."""
    command = command_of(container)
    if command and posixpath.basename(command[0]) in PROGRAMS:
        return True
    return find_entry(script.commands, command) is not None


# What a command that talks to others calls.
_TALKS = re.compile(rf"\b(?:agnhost|{'|'.join(NETWORK_PROGRAMS)})\b")
_AGNHOST = ("agnhost", "agnhost-2")
_ONLY_SERVERS = [
    [name]
    for name in (
        "liveness",
        "netexec",
        "nettest",
        "pause",
        "porter",
        "serve-hostname",
        "test-webserver",
    )
]
# Volumes whose files nobody else changes while a container runs; `kube-api-access` are those of
# tokens.
_TOKENS = "kube-api-access-"


def is_live(pod: Object, container: Object) -> bool:
    """Whether what the command of a container does depends on more than its pod: on volumes that
    others write, or on the network. Such a command runs as far as the clock has come; what any
    other does is known when it starts."""
    command = command_of(container)
    name = posixpath.basename(command[0]) if command else ""
    if name in SERVERS and command[1:] != ["pause"]:
        return True
    if any(_TALKS.search(word) for word in command) and command[1:] != ["pause"]:
        return True
    fields = (
        (each.get("valueFrom") or {}).get("fieldRef") or {} for each in container.get("env") or ()
    )
    if any(each.get("fieldPath", "").startswith("status.") for each in fields):
        return True  # addresses, which a pod has once it runs
    if file_references(container):
        return True
    tokens = {
        volume["name"]
        for volume in pod["spec"].get("volumes") or ()
        if volume["name"].startswith(_TOKENS) and volume.get("projected") is not None
    }
    return any(mount["name"] not in tokens for mount in container.get("volumeMounts") or ())


def answers_itself(container: Object) -> bool:
    """Whether what listens in a container is known: no other port answers."""
    command = command_of(container)
    return bool(command) and posixpath.basename(command[0]) in PROGRAMS


def user_of(pod: Object, container: Object) -> int:
    """The number of the user that a container runs as."""
    return _identity(pod["spec"].get("securityContext") or {}, container).user


def is_agnhost(container: Object) -> bool:
    """Whether a container runs a program of agnhost, whose ports are all known."""
    command = command_of(container)
    return bool(command) and posixpath.basename(command[0]) in _AGNHOST


def only_serves(container: Object) -> bool:
    """Whether a container runs a server that nothing but its clients can end."""
    command = command_of(container)
    name = posixpath.basename(command[0]) if command else ""
    return name in SERVERS and (name not in _AGNHOST or command[1:2] in _ONLY_SERVERS)


class Commands:
    """The runs of the containers of one server's simulated nodes."""

    def __init__(self, computing: ComputingTime) -> None:
        self._computing = computing
        self._runs: BoundedCache[tuple[str, str, str, str], Run] = BoundedCache(
            _KEPT_RUNS, max_bytes=32 * 1024 * 1024, longest=_MAX_OUTPUT * 2, per_byte=1
        )

    def run(
        self, pod: Object, container: Object, started: str, sources: Sources, scripts: ScriptOf
    ) -> Run:
        """The run of a container that started at a time. Raises MissingSource."""
        name = container["name"]
        key = pod["metadata"]["uid"], name, started, scripts(pod, name).identity
        run = self._runs.get(key)
        if run is None:
            with self._computing.measured(pod["metadata"]["namespace"]):
                process = main_process(pod, container, sources, started, {}, scripts)
                process.advance(FOREVER)
            run = process.run
            if process.has_ended:
                run.message = last_message(container, process)
            size = sum(len(output.data) for output in run.outputs)
            self._runs.keep(key, run, size)
        return run


def last_message(container: Object, main: MainProcess) -> str:
    """The termination message of a container: a file, or the end of its log if it failed."""
    path = container.get("terminationMessagePath") or _MESSAGE_PATH
    try:
        data = main.process.files.read(main.process.files.absolute(path))[-_MAX_MESSAGE:]
    except FileError:
        data = b""
    policy = container.get("terminationMessagePolicy")
    if not data and main.run.code and policy == "FallbackToLogsOnError":
        lines = b"".join(output.data for output in main.run.outputs).splitlines(keepends=True)
        data = b"".join(lines[-_MAX_MESSAGE_LINES:])[-_MAX_MESSAGE // 2 :]
    return data.decode(errors="replace")


def main_process(
    pod: Object,
    container: Object,
    sources: Sources,
    started: str,
    volumes: dict[str, Volume],
    scripts: ScriptOf,
    surroundings: Surroundings | None = None,
    ran: set[str] | None = None,
) -> MainProcess:
    """The process of a container, at its start. The init containers before it run first if they
    may leave files for it, unless they are in `ran`. Raises MissingSource."""
    began = parse_time(started).timestamp()
    ran = set() if ran is None else ran
    surroundings = surroundings or Surroundings()
    run_init_containers(pod, container, sources, began, volumes, scripts, ran)
    ran.add(container["name"])
    script = scripts(pod, container["name"])
    process = _process(pod, container, sources, volumes, script, surroundings)
    has_input = bool(container.get("stdin"))
    return MainProcess(
        process,
        began,
        is_live=is_live(pod, container),
        has_input=has_input,
        containers=_containers_of(pod),
    )


def run_init_containers(
    pod: Object,
    container: Object,
    sources: Sources,
    began: float,
    volumes: dict[str, Volume],
    scripts: ScriptOf,
    ran: set[str],
) -> None:
    """Run the init containers before a container that may leave files for it, unless they are in
    `ran`. Raises MissingSource."""
    containers = _containers_of(pod)
    if containers > _MAX_CONTAINERS:
        return
    for each in pod["spec"].get("initContainers") or ():
        if each is container or each["name"] == container["name"]:
            break
        script = scripts(pod, each["name"])
        if each["name"] in ran:
            continue
        ran.add(each["name"])
        if is_known(each, script) and _shares_volumes(pod, each, container):
            first = _process(pod, each, sources, volumes, script, Surroundings())
            MainProcess(first, began, containers=containers).advance(FOREVER)


def _containers_of(pod: Object) -> int:
    return sum(len(pod["spec"].get(family) or ()) for family in _FAMILIES)


def _shares_volumes(pod: Object, first: Object, second: Object) -> bool:
    names = [
        {mount["name"] for mount in each.get("volumeMounts") or ()} for each in (first, second)
    ]
    shared = names[0] & (names[1] | {each["volumeName"] for each in file_references(second)})
    return any(
        volume["name"] in shared and volume.get("emptyDir") is not None
        for volume in pod["spec"].get("volumes") or ()
    )


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
        most = _MAX_LIVE_CPU_SECONDS if is_live else _MAX_CPU_SECONDS
        self._seconds = most * min(1.0, _FEW_CONTAINERS / containers)
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
        self._keep(Output(moment - self.began, stream, data[-_MAX_OUTPUT:]))

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
            self._keep(Output(run.end, effect.stream, effect.data[-_MAX_OUTPUT:]))
        is_busy = self._steps >= _MAX_STEPS or self._busy > self._seconds
        if is_busy or (isinstance(effect, Read) and self._has_input):
            run.end = FOREVER
            self._close()

    def _keep(self, output: Output) -> None:
        outputs = self.run.outputs
        outputs.append(output)
        self._size += len(output.data)
        while self._size > _MAX_OUTPUT:
            self._size -= len(outputs.pop(0).data)


def run_beside(process: Process, words: list[str]) -> tuple[int, str]:
    """Run a command in the container of a process; its exit code and what it writes."""
    beside = MainProcess(process.child(words), clock.time())
    beside.advance(FOREVER)
    written = b"".join(output.data for output in beside.run.outputs)
    return beside.run.code, written.decode(errors="replace")


def _process(
    pod: Object,
    container: Object,
    sources: Sources,
    volumes: dict[str, Volume],
    script: Script,
    surroundings: Surroundings,
) -> Process:
    """The main process of a container. Raises MissingSource."""
    environment = sources.environment(container, reader(pod, volumes))
    sysctls = (pod["spec"].get("securityContext") or {}).get("sysctls") or ()
    own = {each["name"].replace("/", "."): each["value"] for each in sysctls}
    surroundings.settings = {**surroundings.settings, **own}
    mounts = mounts_of(pod, container, sources, volumes, environment)
    mounts.append(limits_mount(sources.current, container["name"]))
    files = Files(mounts, memory_of(pod["metadata"]["namespace"]))
    write_system_files(files, pod, surroundings.network)
    given = {**process_files(pod, container), **image_of(container).files, **script.files}
    write_files(files, given)
    security = container.get("securityContext") or {}
    identity = _identity(pod["spec"].get("securityContext") or {}, container)
    files.is_read_only = bool(security.get("readOnlyRootFilesystem"))
    files.owner = identity[:2]
    surroundings.is_privileged = bool(security.get("privileged"))
    surroundings.may_rise = security.get("allowPrivilegeEscalation") is not False
    lifetime = default_lifetime(pod, container)
    signals = Signals()

    def find(process: Process) -> Program:
        is_main = process is main
        entry = find_entry(script.commands, command if is_main else process.arguments)
        if entry is not None:
            return _stoppable(scripted(entry, process, lifetime if is_main else 0.0), signals)
        program = find_program(process)
        if program is None or (is_main and not is_declared):
            return _stoppable(program or _unknown(lifetime), signals)
        return program

    is_declared = bool(container.get("command") or container.get("args"))
    room = Room()
    command = [expand(word, environment, room) for word in command_of(container)]
    main = Process(
        command or [""],
        files,
        environment,
        hostname_of(pod),
        find,
        container.get("workingDir") or "/",
        has_terminal=bool(container.get("stdin") and container.get("tty")),
        identity=identity,
        signals=signals,
        surroundings=surroundings,
    )
    return main


def _identity(of_pod: Object, container: Object) -> Identity:
    user = image_of(container).user
    chosen = {"runAsUser": user, **of_pod, **(container.get("securityContext") or {})}
    group = chosen.get("runAsGroup") or 0
    others = [*(of_pod.get("supplementalGroups") or ()), of_pod.get("fsGroup")]
    more = (each for each in dict.fromkeys(others) if each is not None and each != group)
    return Identity(chosen.get("runAsUser") or 0, group, tuple(more))


def _unknown(lifetime: float) -> Program:
    yield Wait(lifetime)
    return 0


def _stoppable(program: Program, signals: Signals) -> Program:
    """A program that ends on SIGTERM."""
    signals.runs_unknown = True
    code = yield from program
    signals.runs_unknown = False
    return code
