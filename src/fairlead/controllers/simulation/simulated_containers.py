"""Answers for simulated containers: logs, exec, attach, and connections to their ports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from fairlead.api.subresources.targets import pod_at
from fairlead.base import clock
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import now
from fairlead.controllers.simulation.address_index import AddressIndex
from fairlead.controllers.simulation.agent.containers import (
    FAMILIES,
    KILLED,
    Moment,
    ended,
    state_of,
    status_of,
)
from fairlead.controllers.simulation.container_logs import ContainerLogs, declared_container
from fairlead.controllers.simulation.metrics.objects import SimulatedMetrics
from fairlead.controllers.simulation.network import (
    ClusterNetwork,
    PodNetwork,
    scripted_listener,
)
from fairlead.controllers.simulation.node_pages import NodePages
from fairlead.controllers.simulation.pod_changes import PodChanges
from fairlead.controllers.simulation.pod_sources import PodSources
from fairlead.controllers.simulation.ports import Ports, listener
from fairlead.controllers.simulation.runtime.images import command_of
from fairlead.controllers.simulation.runtime.instances import Instances, run_live
from fairlead.controllers.simulation.runtime.lifetimes import is_known, is_live
from fairlead.controllers.simulation.runtime.main_processes import MainProcess, Run
from fairlead.controllers.simulation.runtime.process import STDERR, Process
from fairlead.controllers.simulation.runtime.sources import MissingSource, Sources
from fairlead.controllers.simulation.runtime.surroundings import Listener as RuntimeListener
from fairlead.controllers.simulation.runtime.terminal import Pipes, Terminal
from fairlead.controllers.simulation.script import NO_SCRIPT, ScriptOf
from fairlead.controllers.simulation.simulated_nodes import PODS, SimulatedNodes
from fairlead.operations.api import (
    Api,
    CommandStreams,
    ConnectionProtocol,
    LogOptions,
    Object,
)
from fairlead.storage.version import Change
from fairlead.wire.outgoing.request import Route
from fairlead.wire.outgoing.response import CallError


class SimulatedContainers:
    """Responds for containers on simulated nodes, also if another server runs the simulation. The
    owner must pass pod events to `changed`."""

    has_scheduler = True

    def __init__(
        self,
        api: Api,
        simulated_nodes: SimulatedNodes,
        scripts: ScriptOf,
        metrics: SimulatedMetrics,
    ) -> None:
        self._api = api
        self._simulated_nodes = simulated_nodes
        self._scripts = scripts
        self.metrics = metrics
        metrics.used_by = self.used_by
        self.index = AddressIndex(api)
        self._network = ClusterNetwork(api, self.index, self._listener_of)
        self._instances = Instances(scripts, self.network_of)
        self.computing = self._instances.computing
        self._ports = Ports(scripts, self.server_of, self.end_of, self.computing)
        self._node_pages = NodePages(api, metrics, self._ports)
        self.sources = PodSources(api, self.index)
        self._changes = PodChanges(simulated_nodes)
        self._logs = ContainerLogs(
            self.sources,
            scripts,
            self._changes,
            self._live_run,
            self.known_process,
            self.computing,
        )

    def has(self, node: str) -> bool:
        return node in self._simulated_nodes

    def log(self, pod: Object, container: str, options: LogOptions) -> bytes:
        """The log of a container. Raises StatusError."""
        return self._logs.read(pod, container, options)

    def follow_log(
        self, pod: Object, container: str, options: LogOptions
    ) -> tuple[bytes, AsyncIterator[bytes]]:
        """The log of a container so far, and what comes until it ends. Raises StatusError."""
        return self._logs.follow(pod, container, options)

    def _live_run(self, pod: Object, container: Object, identity: str, run: Object) -> Run:
        """What a live command has done so far, in a run of its container. Raises
        MissingSource."""
        status = {**status_of(pod, container["name"]), "containerID": identity}
        status["state"] = {"terminated" if run.get("finishedAt") else "running": run}
        return self.main_process(pod, container, status).run

    def known_process(self, pod: Object, status: Object) -> MainProcess | None:
        """The first process of a container, if somebody has talked to it."""
        return self._instances.known(pod, status.get("containerID", ""))

    def tell_by(self, add: Callable[[str], None]) -> None:
        self._instances.told = add

    def used_by(self, pod: Object, container: str) -> Mapping[str, float] | None:
        """What a server uses that was told how much to use."""
        main = self.known_process(pod, status_of(pod, container))
        used = main.process.surroundings.used if main is not None else None
        return used() if used is not None else None

    # What listens, and the network

    def server_of(
        self, pod: Object, container: Object, protocol: str, port: int
    ) -> RuntimeListener | None:
        """The server of a running container on a port."""
        if not is_live(pod, container) or not is_known(container, NO_SCRIPT):
            return None
        status = status_of(pod, container["name"])
        if "running" not in state_of(status):
            return None
        try:
            main = self.main_process(pod, container, status)
        except MissingSource:
            return None
        return main.process.surroundings.listeners.get((protocol, port))

    def _listener_of(self, pod: Object, protocol: str, port: int) -> RuntimeListener | None:
        found = listener(pod, port, self._scripts, self.server_of, protocol)
        if found is None or found.server is not None:
            return None if found is None else found.server
        return scripted_listener(found.entry)

    def network_of(self, pod: Object) -> PodNetwork:
        """The network as a pod sees it."""
        return PodNetwork(self._network, pod, lambda: self._changes.current(pod) or pod)

    def check_running(self, pod: Object, container: str) -> None:
        if "running" not in state_of(status_of(pod, container)):
            raise StatusError(404, "NotFound", f'container not found ("{container}")')

    def process(
        self,
        pod: Object,
        container: Object,
        status: Object,
        words: Sequence[str],
        *,
        is_probe: bool = False,
    ) -> Process:
        """A process in a running container. Raises MissingSource."""
        sources = self._live_sources(pod)
        return self._instances.process(
            pod, container, status, sources, list(words), is_probe=is_probe
        )

    def main_process(self, pod: Object, container: Object, status: Object) -> MainProcess:
        """The first process of a running container. Raises MissingSource."""
        return self._instances.main(pod, container, status, self._live_sources(pod))

    def environment(self, pod: Object, container: Object) -> Mapping[str, str]:
        """The variables that a container would start with. Raises MissingSource."""
        return self._instances.environment(pod, container, self.sources.of(pod))

    def _live_sources(self, pod: Object) -> Sources:
        return self.sources.of(pod, lambda: self._changes.current(pod) or pod)

    async def execute(
        self,
        pod: Object,
        container: str,
        words: list[str],
        streams: CommandStreams,
        *,
        has_terminal: bool,
    ) -> int:
        declared, status = declared_container(pod, container), status_of(pod, container)
        is_attached = not words
        if is_attached and not declared.get("stdin"):
            await self._logs.attach(pod, container, streams)
            return 0
        words = words or command_of(declared)
        record = partial(self._logs.record, status) if is_attached else None
        client = (Terminal if has_terminal else Pipes)(streams, record)
        code = await self._run(pod, declared, status, words, client)
        if is_attached:
            await self._end(pod, container, code)
            return 0  # the status of the pod tells it
        return code

    async def _run(
        self,
        pod: Object,
        declared: Object,
        status: Object,
        words: list[str],
        streams: Pipes,
    ) -> int:
        """Run a command with a client, at most until its container stops; returns its exit
        code."""
        try:
            process = self.process(pod, declared, status, words)
        except MissingSource as missing:
            await streams.write(STDERR, f"{missing}\n".encode())
            return 1
        process.has_terminal = streams.is_terminal
        namespace = pod["metadata"]["namespace"]
        running = asyncio.ensure_future(run_live(process, streams, self.computing, namespace))
        stopped = asyncio.ensure_future(self.end_of(pod, declared["name"]))
        try:
            await asyncio.wait((running, stopped), return_when=asyncio.FIRST_COMPLETED)
            return await running if running.done() else KILLED
        finally:
            for task in (running, stopped):
                task.cancel()
            await asyncio.gather(running, stopped, return_exceptions=True)

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

    async def connect(
        self, pod: Object, route: Route, protocol: Callable[[], ConnectionProtocol]
    ) -> ConnectionProtocol:
        self._check_reachable(pod["spec"]["nodeName"], route)
        current = self._changes.current(pod)
        return await self._ports.connect(current or {**pod, "status": {}}, route, protocol)

    async def address_of(
        self, namespace: str, endpoint: Object, port: int
    ) -> tuple[str, int] | None:
        pod = pod_at(self._api, namespace, endpoint)
        if pod is None or not self.has(pod["spec"].get("nodeName", "")):
            return None
        route = Route(endpoint["ip"], port, "", None)
        self._check_reachable(pod["spec"]["nodeName"], route)
        return await self._ports.forwarded_to(pod, route)

    async def connect_to_node(
        self, node: str, route: Route, protocol: Callable[[], ConnectionProtocol]
    ) -> ConnectionProtocol:
        self._check_reachable(node, route)
        return await self._node_pages.connect(node, route, protocol)

    def _check_reachable(self, node: str, route: Route) -> None:
        if not self._simulated_nodes.answers(node):
            reason = f"dial tcp {route}: connect: no route to host"
            raise CallError(reason, retryable=True, unreached=True)

    async def end_of(self, pod: Object, container: str) -> None:
        """Wait until a running container stops, or the server shuts down."""
        await self._changes.end_of(pod, container)

    def stop_waiting(self) -> None:
        self._changes.stop_waiting()

    def changed(self, change: Change) -> None:
        self._changes.changed(change)
