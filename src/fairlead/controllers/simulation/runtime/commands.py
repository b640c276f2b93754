"""The commands of simulated containers: what they print, and when and how they end.

Nothing of it is stored. A run is computed from the pod's spec and the time at which the container
started, so every server comes to the same result, also after a restart.
"""

from __future__ import annotations

from fairlead.base.caches import BoundedCache
from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.runtime.computing import ComputingTime
from fairlead.controllers.simulation.runtime.container_start import main_process
from fairlead.controllers.simulation.runtime.files import FileError
from fairlead.controllers.simulation.runtime.lifetimes import FOREVER
from fairlead.controllers.simulation.runtime.main_processes import MAX_OUTPUT, MainProcess, Run
from fairlead.controllers.simulation.runtime.sources import Sources
from fairlead.controllers.simulation.script import ScriptOf

_KEPT_RUNS = 1_000
_MESSAGE_PATH = "/dev/termination-log"
_MAX_MESSAGE, _MAX_MESSAGE_LINES = 4096, 80  # bytes, and lines of a log


class Commands:
    """The runs of the containers of one server's simulated nodes."""

    def __init__(self, computing: ComputingTime) -> None:
        self._computing = computing
        self._runs: BoundedCache[tuple[str, str, str, str], Run] = BoundedCache(
            _KEPT_RUNS, max_bytes=32 * 1024 * 1024, longest=MAX_OUTPUT * 2, per_byte=1
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
