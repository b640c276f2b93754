"""A cluster of nodes that tests let report, fall silent and come back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import count
from typing import Any

from support.client import Client, Object
from support.namespaces import random_word
from support.process import ServerProcess
from support.waiting import eventually

NODES = "/api/v1/nodes"
STEP = 20.0  # seconds; shorter than any patience with nodes
STRATEGIC = "application/strategic-merge-patch+json"


class Cluster:
    """Nodes and pods on a server with a movable clock, under names of its own. One node, the
    anchor, stays alive while time passes, so that the cluster as a whole is well."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.client: Client = server.client()
        self.dialect = server.dialect
        self._word = random_word()
        self._moments = count(1)
        self._nodes: list[str] = []
        self.namespace = f"test-{self._word}"
        answer = self.client.post("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        assert answer.status == 201, answer.text
        self.pods = f"/api/v1/namespaces/{self.namespace}/pods"
        accounts = f"/api/v1/namespaces/{self.namespace}/serviceaccounts"
        self.client.post(accounts, {"metadata": {"name": "default"}})
        self.anchor = self.node("anchor")

    def close(self) -> None:
        for name in self._nodes:
            self.client.delete(f"{NODES}/{name}")

    def label(self, name: str) -> str:
        return self.dialect.label(name)

    def _moment(self) -> str:
        """Return a later time with each call; it is never compared with a clock."""
        minutes, seconds = divmod(next(self._moments), 60)
        return f"2026-01-01T00:{minutes:02}:{seconds:02}"

    def node(self, name: str, ready: str | None = "True", **fields: Any) -> str:
        """Register a node, which reports whether it is ready unless `ready` is None."""
        name = f"{name}-{self._word}"
        body: Object = {"metadata": {"name": name, "labels": fields.pop("labels", {})}, **fields}
        if ready is not None:
            body["status"] = {"conditions": [_condition("Ready", ready, self._moment())]}
        answer = self.client.post(NODES, body)
        assert answer.status == 201, answer.text
        self._nodes.append(name)
        return name

    def report(self, node: str, status: str = "True", kind: str = "Ready") -> None:
        """Have a node say something about itself."""
        conditions = [_condition(kind, status, self._moment())]
        answer = self.client.patch(
            f"{NODES}/{node}/status", {"status": {"conditions": conditions}}, kind=STRATEGIC
        )
        assert answer.status == 200, answer.text

    def renew(self, node: str) -> None:
        """Renew the lease of a node; creates it if there is none."""
        group = self.dialect.group_name("coordination.@")
        namespace = self.dialect.node_lease_namespace
        spec = {"holderIdentity": node, "renewTime": f"{self._moment()}.000000Z"}
        lease = {"metadata": {"name": node}, "spec": spec}
        path = f"/apis/{group}/v1/namespaces/{namespace}/leases"
        renewed = self.client.patch(f"{path}/{node}", lease)
        if renewed.status == 404:
            renewed = self.client.post(path, lease)
        assert renewed.status in (200, 201), renewed.text

    def pass_time(self, seconds: float, *renewing: str, anchor: bool = True) -> None:
        """Let time pass, while some nodes renew their leases."""
        alive = (self.anchor, *renewing) if anchor else renewing
        while seconds > 0:
            self._move(min(seconds, STEP))
            seconds -= STEP
            for node in alive:
                self.renew(node)

    def _move(self, seconds: float) -> None:
        before = self._server_time()
        self.server.advance(seconds)
        eventually(lambda: self._server_time() - before >= int(seconds), "the clock is moved")

    def _server_time(self) -> float:
        path = f"/api/v1/namespaces/{self.namespace}/configmaps"
        document = self.client.post(path, {"metadata": {"name": "moment"}}, dryRun="All").body
        return datetime.fromisoformat(document["metadata"]["creationTimestamp"]).timestamp()

    def read(self, node: str) -> Object:
        document: Object = self.client.get(f"{NODES}/{node}").body
        return document

    def conditions(self, node: str) -> dict[str, Object]:
        listed = self.read(node)["status"].get("conditions", [])
        return {condition["type"]: condition for condition in listed}

    def ready(self, node: str) -> str:
        return str(self.conditions(node)["Ready"]["status"])

    def taints(self, node: str) -> set[tuple[str, str]]:
        """(key, effect), the key without the domain of the node's own taints."""
        domain = self.label("node.@/")
        taints = self.read(node).get("spec", {}).get("taints", [])
        return {(taint["key"].removeprefix(domain), taint["effect"]) for taint in taints}

    def pod(self, name: str, node: str, tolerations: Iterable[Object] = (), **metadata: Any) -> str:
        """A running pod on a node; gives its URL."""
        body = {
            "metadata": {"name": name, **metadata},
            "spec": {
                "nodeName": node,
                "tolerations": list(tolerations),
                "containers": [{"name": "c", "image": "i"}],
            },
        }
        answer = self.client.post(self.pods, body)
        assert answer.status == 201, answer.text
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        path = f"{self.pods}/{name}"
        assert self.client.patch(f"{path}/status", {"status": running}).status == 200
        return path

    def is_leaving(self, pod: str) -> bool:
        """Whether a pod is deleted or being deleted."""
        answer = self.client.get(pod)
        return answer.status == 404 or "deletionTimestamp" in answer.body["metadata"]

    def events(self, name: str, namespace: str = "default") -> list[tuple[str, str, str, str]]:
        """Return (component, type, reason, message) of the events of an object."""
        selector = f"involvedObject.name={name}"
        path = f"/api/v1/namespaces/{namespace}/events"
        return [
            (item["source"]["component"], item["type"], item["reason"], item["message"])
            for item in self.client.get(path, fieldSelector=selector).body["items"]
        ]


def _condition(kind: str, status: str, moment: str) -> Object:
    return {"type": kind, "status": status, "lastHeartbeatTime": f"{moment}Z", "reason": "Said"}
