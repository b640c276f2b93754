"""Servers with an audit log, and a reader of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.client import Answer, Client
from support.process import ServerProcess
from support.waiting import eventually

Event = dict[str, Any]

# The level depends on the namespace; `/livez` is not logged.
POLICY = """
apiVersion: audit.%s/v1
kind: Policy
rules:
- {level: None, nonResourceURLs: ["/livez*"]}
- {level: None, namespaces: [quiet]}
- {level: Request, namespaces: [requests]}
- {level: RequestResponse, namespaces: [bodies]}
- {level: RequestResponse, namespaces: [short], omitManagedFields: true}
- {level: Metadata, namespaces: [late], omitStages: [RequestReceived]}
- {level: Metadata}
"""
NAMESPACES = ("quiet", "requests", "bodies", "short", "late", "plain")


class Audited:
    """A server with an audit log in a file."""

    def __init__(
        self, directory: Path, *flags: str, dialect: str = "kubernetes", prelude: str = ""
    ) -> None:
        domain = {"kubernetes": "k8s.io", "cluster": "cluster.io"}[dialect]
        policy = directory / "policy.yaml"
        policy.write_text(POLICY % domain)
        self.log = directory / "logs" / "audit.log"
        given = ("--audit-policy-file", str(policy), "--audit-log-path", str(self.log), *flags)
        self.server = ServerProcess(directory, dialect, given, prelude).start()
        self.client = self.server.client()
        for name in NAMESPACES:
            assert (
                self.client.post("/api/v1/namespaces", {"metadata": {"name": name}}).status == 201
            )

    def events(self) -> list[Event]:
        """Return all events, without a partially written one."""
        whole, _, _ = self.log.read_bytes().rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()]

    def of(self, answer: Answer) -> list[Event]:
        """Return the events of the request with this answer."""
        return self.of_id(answer.headers["Audit-Id"])

    def of_id(self, audit_id: str) -> list[Event]:
        return [event for event in self.events() if event["auditID"] == audit_id]

    def last(self, answer: Answer) -> Event:
        """Return the one event of the last stage."""
        (last,) = [event for event in self.of(answer) if event["stage"] == "ResponseComplete"]
        return last

    def wait_for(self, audit_id: str, stage: str) -> Event:
        def found() -> list[Event]:
            return [event for event in self.of_id(audit_id) if event["stage"] == stage]

        eventually(lambda: bool(found()), f"{stage} of {audit_id} is told")
        return found()[0]


def stages(events: list[Event]) -> list[str]:
    return [event["stage"] for event in events]


def config_maps(namespace: str, name: str = "") -> str:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    return f"{path}/{name}" if name else path


def create(client: Client, namespace: str, name: str) -> Answer:
    answer = client.post(config_maps(namespace), {"metadata": {"name": name}, "data": {"k": "v"}})
    assert answer.status == 201, answer.text
    return answer
