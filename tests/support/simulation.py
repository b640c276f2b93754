"""Pods on simulated nodes."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

from support.client import Answer, Object, Query
from support.namespaces import Space
from support.process import ServerProcess
from support.waiting import eventually
from support.web_sockets import CLOSE, HELLO, KEY, TOKEN, WebSocket

PREFIX = "simulation.fairlead/"
GROUP = "simulation.fairlead.dev"


def behaviour(**settings: str) -> dict[str, str]:
    """Return annotations that configure the behaviour of a simulated pod."""
    return {PREFIX + name.replace("_", "-"): text for name, text in settings.items()}


def container(name: str = "c", **fields: Any) -> Object:
    return {"name": name, "image": "nginx:1", **fields}


def asking(**requests: str) -> Object:
    """Return a container with resource requests."""
    return container(resources={"requests": requests})


def await_nodes(server: ServerProcess, count: int) -> None:
    """Wait until so many nodes accept pods."""
    client = server.client()

    def free() -> int:
        nodes = client.get("/api/v1/nodes").body["items"]
        return sum(not node["spec"].get("taints") for node in nodes)

    eventually(lambda: free() == count, f"{count} nodes take pods")


class Outcome(NamedTuple):
    """What a command in a container wrote, and its exit code."""

    stdout: str
    stderr: str
    code: int


class Pods:
    """The pods of a namespace on a server with simulated nodes."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.server = space.server
        self.collection = space.collection("pods")
        self.nodes = space.everywhere("nodes")
        self.behaviours = space.collection("behaviours", GROUP)
        self._events = space.collection("events")
        space.ready_for_pods()

    def create(
        self,
        name: str = "p",
        *containers: Object,
        annotations: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
        metadata: Object | None = None,
        **spec: Any,
    ) -> Object:
        named = {"annotations": annotations or {}, **(metadata or {})}
        body = {"containers": list(containers) or [container()], **spec}
        return self.collection.create(name, labels=labels or {}, metadata=named, spec=body)

    def script(self, name: str = "b", /, **spec: Any) -> Answer:
        """Create a Behaviour."""
        body = {"kind": "Behaviour", "apiVersion": f"{GROUP}/v1", "metadata": {"name": name}}
        eventually(lambda: self.behaviours.list().status == 200, "behaviours are served")
        return self.space.client.post(self.behaviours.path, {**body, "spec": spec})

    def run(self, *words: str, name: str = "p", container: str = "") -> Outcome:
        """Execute a command in a container."""
        query = [("command", word) for word in words]
        query += [("stdout", "true"), ("stderr", "true"), ("container", container)]
        path = f"{self.collection.item(name, 'exec')}?{urlencode(query)}"
        streams = {1: b"", 2: b"", 3: b""}
        protocol = "Sec-WebSocket-Protocol: v5.channel.k8s.io"
        with WebSocket(self.server, path, protocol, hello=(*HELLO, KEY, TOKEN)) as client:
            while (frame := client.next())[0] != CLOSE:
                streams[frame[1][0]] += frame[1][1:]
        causes = json.loads(streams[3]).get("details", {}).get("causes", [{"message": "0"}])
        return Outcome(streams[1].decode(), streams[2].decode(), int(causes[0]["message"]))

    def clear(self) -> None:
        """Free the nodes; no new pods are created in a namespace that is being deleted."""
        client = self.space.client
        assert client.delete(f"/api/v1/namespaces/{self.space.name}").status == 200
        answer = client.delete(self.collection.path, {"gracePeriodSeconds": 0})
        assert answer.status == 200, answer.text

    def read(self, name: str = "p") -> Object:
        return self.collection.read(name)

    def status(self, name: str = "p") -> Object:
        result: Object = self.read(name)["status"]
        return result

    def node_of(self, name: str = "p") -> str:
        text: str = self.read(name)["spec"].get("nodeName", "")
        return text

    def condition(self, name: str, kind: str) -> Object:
        result = self.status(name).get("conditions", [])
        return next((item for item in result if item["type"] == kind), {})

    def is_ready(self, name: str = "p") -> bool:
        return bool(self.condition(name, "Ready").get("status") == "True")

    def await_ready(self, *names: str) -> None:
        for name in names or ("p",):
            eventually(partial(self.is_ready, name), f"{name} is ready")

    def await_phase(self, phase: str, name: str = "p") -> Object:
        eventually(lambda: self.status(name).get("phase") == phase, f"{name} is {phase}")
        return self.status(name)

    def state(self, name: str = "p", index: int = 0) -> Object:
        """Return the state of a container."""
        statuses = self.status(name).get("containerStatuses") or [{}] * (index + 1)
        value: Object = statuses[index].get("state", {})
        return value

    def await_waiting(self, reason: str, name: str = "p") -> Object:
        """Return the status of a container once it waits for this reason."""

        def waits() -> bool:
            return bool(self.state(name).get("waiting", {}).get("reason") == reason)

        eventually(waits, f"{name} waits: {reason}")
        container_status: Object = self.status(name)["containerStatuses"][0]
        return container_status

    def is_gone(self, name: str = "p") -> bool:
        return self.collection.get(name).status == 404

    def await_gone(self, *names: str) -> None:
        for name in names or ("p",):
            eventually(partial(self.is_gone, name), f"{name} is gone")

    def events(self, name: str = "p") -> list[Object]:
        items = self._events.list().body["items"]
        return [item for item in items if item["involvedObject"]["name"] == name]

    def await_event(self, reason: str, name: str = "p", text: str = "") -> Object:
        def found() -> list[Object]:
            return [
                event
                for event in self.events(name)
                if event["reason"] == reason and text in event["message"]
            ]

        eventually(lambda: bool(found()), f"an event {reason} {text} about {name}")
        return found()[0]

    def log(self, name: str = "p", **query: Query) -> str:
        return self.space.client.get(self.collection.item(name, "log"), **query).text

    def log_refusal(self, name: str = "p", **query: Query) -> str:
        answer = self.space.client.get(self.collection.item(name, "log"), **query)
        assert answer.status == 400, answer.text
        text: str = answer.body["message"]
        return text
