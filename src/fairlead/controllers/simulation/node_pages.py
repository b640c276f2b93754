"""What the agents of simulated nodes answer to HTTP requests that come through the proxy of their
node: the pods of the node, its health, metrics and usage."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import orjson

from fairlead.codec.types.model import Object
from fairlead.codec.types.quantity import quantity
from fairlead.controllers.simulation.agent.containers import state_of
from fairlead.controllers.simulation.http_answers import NOT_FOUND, Reply, serve_http, text_reply
from fairlead.controllers.simulation.node_objects import AGENT_PORT
from fairlead.controllers.simulation.ports import Conversation, Owner, Ports, refused
from fairlead.controllers.simulation.runtime.computing import Pace
from fairlead.controllers.simulation.simulated_nodes import PODS
from fairlead.operations.api import Api, ConnectionProtocol, ResourceMetrics
from fairlead.storage.reads import prepare_index, select
from fairlead.storage.selection import Requirement, Selection
from fairlead.storage.version import Version
from fairlead.wire.byte_streams import ByteStream
from fairlead.wire.incoming.parser import Head
from fairlead.wire.outgoing.request import Route

_METRICS = "text/plain; version=0.0.4; charset=utf-8"
_RESOURCES = {"cpu": ("usageNanoCores", 10**9), "memory": ("workingSetBytes", 1)}


class NodePages:
    """The pages of all simulated nodes."""

    def __init__(self, api: Api, metrics: ResourceMetrics, ports: Ports) -> None:
        self._pods = api.collection(api.resources.named(PODS))
        self._metrics_of = metrics.of_pod
        self._ports = ports
        self._pages: dict[str, Callable[[str], Awaitable[Reply]]] = {
            "/healthz": self._health,
            "/metrics": self._metrics,
            "/pods": self._pod_list,
            "/stats/summary": self._summary,
        }

    async def connect(
        self, node: str, route: Route, protocol: Callable[[], ConnectionProtocol]
    ) -> ConnectionProtocol:
        """Connect to a port of a node; raises CallError."""
        if route.port != AGENT_PORT:
            raise refused(route)

        async def begin() -> Conversation:
            return partial(self._serve, node)

        plain = route._replace(tls=None)
        return await self._ports.converse(
            Owner("", node), begin, asyncio.Event().wait, plain, protocol
        )

    async def _serve(self, node: str, stream: ByteStream) -> None:
        pace = Pace(self._ports.computing, "")
        await serve_http(stream, partial(self._respond, node), pace)

    async def _respond(self, node: str, head: Head) -> Reply:
        page = self._pages.get(head.path.rstrip("/"))
        if page is None:
            return NOT_FOUND
        if head.method not in ("GET", "HEAD"):
            return text_reply("405: Method Not Allowed\n", 405)
        return await page(node)

    async def _pods_of(self, node: str) -> list[Version]:
        on_node = Selection(fields=(Requirement("spec.nodeName", "in", frozenset([node])),))
        await prepare_index(self._pods, "", on_node)
        return await select(self._pods, "", on_node)

    async def _health(self, node: str) -> Reply:
        return text_reply("ok")

    async def _pod_list(self, node: str) -> Reply:
        pods = [version.object() for version in await self._pods_of(node)]
        return _json({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods})

    async def _metrics(self, node: str) -> Reply:
        running = [_running(version.object()) for version in await self._pods_of(node)]
        pods, containers = sum(map(bool, running)), sum(map(len, running))
        lines = (
            "# TYPE kubelet_node_name gauge",
            f'kubelet_node_name{{node="{node}"}} 1',
            "# TYPE kubelet_running_pods gauge",
            f"kubelet_running_pods {pods}",
            "# TYPE kubelet_running_containers gauge",
            f'kubelet_running_containers{{container_state="running"}} {containers}',
        )
        return text_reply("".join(f"{line}\n" for line in lines), content_type=_METRICS)

    async def _summary(self, node: str) -> Reply:
        pods = [self._pod_summary(version) for version in await self._pods_of(node)]
        return _json({"node": {"nodeName": node, "systemContainers": []}, "pods": pods})

    def _pod_summary(self, version: Version) -> Object:
        pod, measured = version.object(), self._metrics_of(version) or {}
        used = {each["name"]: each["usage"] for each in measured.get("containers") or ()}
        containers: list[Object] = []
        for status in _running(pod):
            started = state_of(status)["running"]["startedAt"]
            containers.append({"name": status["name"], "startTime": started})
            for resource, text in used.get(status["name"], {}).items():
                field, unit = _RESOURCES[resource]
                amount = {"time": measured["timestamp"], field: int(quantity(text) * unit)}
                containers[-1][resource] = amount
        return {
            "podRef": {key: pod["metadata"][key] for key in ("name", "namespace", "uid")},
            "startTime": pod["status"].get("startTime"),
            "containers": containers,
        }


def _running(pod: Object) -> list[Object]:
    statuses = pod["status"].get("containerStatuses") or ()
    return [status for status in statuses if "running" in state_of(status)]


def _json(value: Object) -> Reply:
    return Reply(200, ((b"content-type", b"application/json"),), orjson.dumps(value))
