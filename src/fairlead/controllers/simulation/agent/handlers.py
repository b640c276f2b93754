"""Runs the handlers of probes and hooks: commands in containers, and calls of their ports.

Nothing waits for the time that a command or an answer takes: it is computed. Only an address of the
test, to which a port is forwarded, is called and waited for.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from fairlead.base import clock
from fairlead.controllers.simulation.agent.containers import state_of, status_of
from fairlead.controllers.simulation.http_answers import Reply, scripted_reply
from fairlead.controllers.simulation.ports import LATE, ServerOf, check_listening, get
from fairlead.controllers.simulation.runtime.computing import ComputingTime
from fairlead.controllers.simulation.runtime.lifetimes import FOREVER, answers_itself, is_agnhost
from fairlead.controllers.simulation.runtime.main_processes import MainProcess
from fairlead.controllers.simulation.runtime.process import Process, Program
from fairlead.controllers.simulation.runtime.programs import PROGRAMS
from fairlead.controllers.simulation.runtime.scripted import find_entry
from fairlead.controllers.simulation.runtime.sources import MissingSource
from fairlead.controllers.simulation.runtime.surroundings import (
    NO_LISTENER,
    TCP,
    Answer,
    Network,
    NetworkError,
    Request,
)
from fairlead.controllers.simulation.script import Script, ScriptOf
from fairlead.operations.api import Object
from fairlead.resources.core.pods.container_lists import all_containers
from fairlead.wire.outgoing.response import CallError

_GRPC_CHECK = "/grpc.health.v1.Health/Check"
_MAX_REDIRECTS = 10
_MAX_OUTPUT = 1024  # bytes of the output of a probe that are told


# The first process of a running container: the pod, the container and its status. Raises
# MissingSource.
MainProcessOf = Callable[[Object, Object, Object], MainProcess]


class ProcessIn(Protocol):
    """Makes a process with these arguments in a running container. Raises MissingSource."""

    def __call__(
        self,
        pod: Object,
        container: Object,
        status: Object,
        words: Sequence[str],
        *,
        is_probe: bool = False,
    ) -> Process: ...


class Outcome(NamedTuple):
    """How a handler ended, and after how many seconds. `is_known` is False if a program was missing
    that the image may have: then it counts as a success. `again`: it is to be tried again
    soon. `warning` is told of a success that is doubtful."""

    succeeded: bool
    seconds: float = 0.0
    text: str = ""
    is_known: bool = True
    again: bool = False
    warning: str = ""


SUCCESS = Outcome(True)
# A server of the pod has not started yet.
AGAIN = Outcome(False, again=True)


class Handlers:
    """Runs the handlers of the containers of a server."""

    def __init__(
        self,
        process_in: ProcessIn,
        script_of: ScriptOf,
        server_of: ServerOf,
        network_of: Callable[[Object], Network],
        main_process: MainProcessOf,
        computing: ComputingTime,
    ) -> None:
        self.computing = computing
        self._process_in = process_in
        self._script_of = script_of
        self._server_of = server_of
        self._network_of = network_of
        self._main_process = main_process
        self._looked_at: tuple[Object, bool] = {}, False  # the last pod, and its answer

    def decides(self, pod: Object, container: Object, handler: Object) -> bool:
        """Whether the simulation knows how a handler ends; all others succeed at once."""
        script = self._script_of(pod, container["name"])
        if handler.get("exec") is not None:
            command = handler["exec"].get("command") or [""]
            is_known = posixpath.basename(command[0]) in PROGRAMS
            return is_known or find_entry(script.commands, command) is not None
        port = _port_of(container, handler)
        if _other_host(pod, handler):
            return True
        if port is None:
            return False
        return port in script.ports or self._knows_ports(pod)

    def _knows_ports(self, pod: Object) -> bool:
        """Whether the simulation may know what listens in a pod."""
        last, answer = self._looked_at
        if last is not pod:
            containers = list(all_containers(pod["spec"]))
            answer = any(map(is_agnhost, containers)) or all(map(answers_itself, containers))
            self._looked_at = pod, answer
        return answer

    def _execute(
        self, pod: Object, container: Object, status: Object, handler: Object, limit: float | None
    ) -> Outcome:
        """Run the command of a probe for at most so many seconds, or that of a hook."""
        words, namespace = handler["exec"]["command"], pod["metadata"]["namespace"]
        is_probe, limit = limit is not None, FOREVER if limit is None else limit
        try:
            process = self._process_in(pod, container, status, words, is_probe=is_probe)
        except MissingSource:
            return SUCCESS
        missing: list[str] = []
        process.find = _noting(process.find, missing)
        main = MainProcess(process, clock.time())
        with self.computing.measured(namespace):
            main.advance(limit)
        run = main.run
        if missing:
            return Outcome(True, run.end if main.has_ended else 0.0, is_known=False)
        if not main.has_ended or run.end > limit:
            text = f'command timed out: "{" ".join(words)}" timed out after {limit:g}s'
            return Outcome(False, limit, text[:_MAX_OUTPUT])
        output = b"".join(output.data for output in run.outputs)[:_MAX_OUTPUT]
        return Outcome(run.code == 0, run.end, output.decode(errors="replace"))

    async def probe(self, pod: Object, container: Object, status: Object, probe: Object) -> Outcome:
        """Run a probe of a running container."""
        limit = float(probe.get("timeoutSeconds") or 1)
        if probe.get("exec") is not None:
            return self._execute(pod, container, status, probe, limit)
        port, script = _port_of(container, probe), self._script_of(pod, container["name"])
        http = probe.get("httpGet")
        if port is None:
            return SUCCESS
        if _other_host(pod, probe):
            return self._call_other(pod, http or probe["tcpSocket"], port, limit)
        if port not in script.ports:
            return self._call_own(pod, container, probe, port, limit)
        if http is None and "http" not in script.ports[port]:
            return await _check_listening(script, port, limit)
        http = http or {"path": _GRPC_CHECK}
        return await _get(script, port, http, _host(pod, http), limit)

    def run_hook(self, pod: Object, container: Object, status: Object, hook: Object) -> Outcome:
        """Run a hook of a container."""
        if hook.get("sleep") is not None:
            return Outcome(True, float(hook["sleep"]["seconds"]))
        if not self.decides(pod, container, hook):
            return SUCCESS
        if hook.get("exec") is not None:
            return self._execute(pod, container, status, hook, None)
        port, call = _port_of(container, hook) or 0, hook.get("httpGet") or hook.get("tcpSocket")
        if call is not None and _other_host(pod, hook):
            return self._call_other(pod, call, port, FOREVER)
        entry = self._script_of(pod, container["name"]).ports.get(port)
        if entry is None:
            return self._call_own(pod, container, hook, port, FOREVER, is_hook=True)
        if "http" not in entry:
            return Outcome("forward" in entry)
        path = (hook.get("httpGet") or {}).get("path") or "/"
        reply = scripted_reply(entry["http"], "GET", path)
        return Outcome(True, reply.delay)  # whatever the answer is

    def _call_own(
        self,
        pod: Object,
        container: Object,
        handler: Object,
        port: int,
        limit: float,
        *,
        is_hook: bool = False,
    ) -> Outcome:
        """Call a server that runs in the pod."""
        http = handler.get("httpGet")
        if http is None and handler.get("grpc") is not None:
            http = {"path": _GRPC_CHECK}
        every = all_containers(pod["spec"])
        found = (self._server_of(pod, each, TCP, port) for each in every)
        server = next((each for each in found if each is not None), None)
        if server is None and is_hook and _begins(pod, container):
            return SUCCESS  # its own server, which begins to listen when the hook has ended
        if server is None and is_hook and any(_begins(pod, each) for each in every):
            return AGAIN
        if server is None and not is_agnhost(container) and (is_hook or self._may_listen(pod)):
            return SUCCESS  # it may be a server of a program that is not known
        if server is None:
            address = f"{pod['status'].get('podIP', '')}:{port}"
            text = f"dial tcp {address}: connect: {NO_LISTENER}"
            if call := handler.get("httpGet"):
                scheme, path = call.get("scheme", "http").lower(), call.get("path") or "/"
                text = f'Get "{scheme}://{address}{path}": {text}'
            return Outcome(False, text=text)
        if http is None:
            return SUCCESS
        if server.http is None:
            return Outcome(False, text="malformed HTTP response")
        answer = _followed(server.http, _request(http))
        place = answer.headers.get("location", "")
        if is_hook and 300 <= answer.status < 400 and "://" in place:
            return self._follow(pod, place)
        return _judged(answer, limit)

    def _may_listen(self, pod: Object) -> bool:
        """Whether a program that the simulation does not know may run in a pod."""
        for container in all_containers(pod["spec"]):
            status = status_of(pod, container["name"])
            if "running" not in state_of(status):
                continue
            if not answers_itself(container):
                return True
            try:
                if not self._main_process(pod, container, status).is_understood:
                    return True
            except MissingSource:
                return True
        return False

    def _follow(self, pod: Object, place: str) -> Outcome:
        """Hooks go where they are sent, probes do not."""
        parts = urlsplit(place)
        query = f"?{parts.query}" if parts.query else ""
        call = {"host": parts.hostname or "", "path": f"{parts.path or '/'}{query}"}
        return self._call_other(pod, call, parts.port or 80, FOREVER)

    def _call_other(self, pod: Object, call: Object, port: int, limit: float) -> Outcome:
        """Call another host."""
        network, host = self._network_of(pod), str(call["host"])
        try:
            if "path" not in call and "scheme" not in call:
                network.send(TCP, host, port, b"")
                return SUCCESS
            answer = network.get(host, port, _request(call))
        except NetworkError as failed:
            return Outcome(
                False, text=f'Get "http://{host}:{port}{call.get("path", "")}": {failed}'
            )
        return _judged(answer, limit)


def _begins(pod: Object, container: Object) -> bool:
    """Whether a container with a known server has not started yet."""
    status = status_of(pod, container["name"])
    return (
        is_agnhost(container) and "running" not in state_of(status) and not status.get("lastState")
    )


def _request(http: Object) -> Request:
    headers = {each["name"].lower(): each["value"] for each in http.get("httpHeaders") or ()}
    is_tls = http.get("scheme") == "HTTPS"
    return Request(target=http.get("path") or "/", headers=headers, is_tls=is_tls)


def _followed(answer: Callable[[Request], Answer], request: Request) -> Answer:
    """The answer of a server, after redirects to other pages of it."""
    told = answer(request)
    for _ in range(_MAX_REDIRECTS):
        place = told.headers.get("location", "")
        if not 300 <= told.status < 400 or not place.startswith("/"):
            break
        told = answer(request._replace(target=place))
    return told


def _judged(answer: Answer, limit: float) -> Outcome:
    """What the answer of a server means."""
    place = answer.headers.get("location", "")
    if 300 <= answer.status < 400 and "://" in place:  # another host is not looked at
        body = answer.body[:_MAX_OUTPUT].decode(errors="replace")
        warning = f"Probe terminated redirects, Response body: {body}"
        return Outcome(True, answer.delay, warning=warning)
    if answer.delay > limit:
        return Outcome(False, limit, LATE)
    return _outcome(Reply(answer.status, (), answer.body, answer.delay))


def _other_host(pod: Object, handler: Object) -> bool:
    """Whether a handler calls another host than its pod."""
    call = handler.get("httpGet") or handler.get("tcpSocket") or {}
    own = (None, "", "localhost", "127.0.0.1", pod["status"].get("podIP"))
    return call.get("host") not in own


async def _check_listening(script: Script, port: int, limit: float) -> Outcome:
    try:
        await check_listening(script, port, limit)
    except CallError as error:
        return Outcome(False, text=str(error)[:_MAX_OUTPUT])
    return SUCCESS


async def _get(script: Script, port: int, http: Object, host: str, limit: float) -> Outcome:
    """Call a port as an HTTP probe does."""
    scheme, path = http.get("scheme", "http").lower(), http.get("path") or "/"
    headers = [(each["name"], each["value"]) for each in http.get("httpHeaders") or ()]
    where = f'Get "{scheme}://{host}:{port}{path}"'
    try:
        reply = await get(script, port, scheme, path, headers, limit)
    except CallError as error:
        return Outcome(False, text=f"{where}: {error}"[:_MAX_OUTPUT])
    if reply.delay > limit:
        return Outcome(False, limit, f"{where}: {LATE}")
    return _outcome(reply)


def _outcome(reply: Reply) -> Outcome:
    """What an answer means for a probe."""
    text = f"HTTP probe failed with statuscode: {reply.status}"
    return Outcome(200 <= reply.status < 400, reply.delay, text)


def _host(pod: Object, call: Object) -> str:
    host: str = call.get("host") or pod["status"].get("podIP", "")
    return host


def _port_of(container: Object, handler: Object) -> int | None:
    """The number of the port that a handler calls."""
    for kind in ("httpGet", "tcpSocket", "grpc"):
        if handler.get(kind) is not None:
            port = handler[kind]["port"]
            if isinstance(port, int):
                return port
            named = (each for each in container.get("ports") or () if each.get("name") == port)
            return next((each["containerPort"] for each in named), None)
    return None


def _noting(
    find: Callable[[Process], Program | None], missing: list[str]
) -> Callable[[Process], Program | None]:
    """Finds programs. Of those that there are not, the names are noted; they succeed."""

    def noting(process: Process) -> Program | None:
        program = find(process)
        if program is not None:
            return program
        missing.append(process.arguments[0])
        return PROGRAMS["true"](process)

    return noting
