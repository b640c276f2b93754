"""How containers start: the init containers before them, then their files, variables and user."""

from __future__ import annotations

from fairlead.codec.types.model import Object
from fairlead.codec.types.times import parse_time
from fairlead.controllers.simulation.runtime.environment_files import file_references, reader
from fairlead.controllers.simulation.runtime.files import Files, Volume
from fairlead.controllers.simulation.runtime.images import command_of, image_of
from fairlead.controllers.simulation.runtime.kernel_files import limits_mount, process_files
from fairlead.controllers.simulation.runtime.lifetimes import (
    FOREVER,
    default_lifetime,
    is_known,
    is_live,
)
from fairlead.controllers.simulation.runtime.main_processes import MainProcess
from fairlead.controllers.simulation.runtime.memory import memory_of
from fairlead.controllers.simulation.runtime.mounts import mounts_of, write_system_files
from fairlead.controllers.simulation.runtime.process import (
    Identity,
    Process,
    Program,
    Signals,
    Wait,
)
from fairlead.controllers.simulation.runtime.programs import find_program
from fairlead.controllers.simulation.runtime.scripted import find_entry, scripted, write_files
from fairlead.controllers.simulation.runtime.sources import Room, Sources, expand, hostname_of
from fairlead.controllers.simulation.runtime.surroundings import Surroundings
from fairlead.controllers.simulation.script import Script, ScriptOf

_MAX_CONTAINERS = 50  # of a pod whose init containers leave files for the others
_FAMILIES = ("initContainers", "containers", "ephemeralContainers")


def user_of(pod: Object, container: Object) -> int:
    """The number of the user that a container runs as."""
    return _identity(pod["spec"].get("securityContext") or {}, container).user


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
            return _stoppable(scripted(entry, process, lifetime if is_main else 0.0), main)
        program = find_program(process)
        if program is None or (is_main and not is_declared):
            return _stoppable(program or _unknown(lifetime), main)
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


def _stoppable(program: Program, main: Process) -> Program:
    """A program that ends on SIGTERM, and may listen."""
    signals = main.signals or Signals()
    signals.runs_unknown = main.surroundings.has_unknown = True
    code = yield from program
    signals.runs_unknown = False
    return code
