"""A server under attack, and measurements of the damage."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

from support.client import Answer, Client, Object, Watch
from support.process import ServerProcess
from support.stalls import TICK, Report, prelude

NAMESPACE = "tenant"
TENANT_TOKEN = "alice-token"
MAX_SECONDS = 0.1  # for which the loop may be blocked
MAX_BYTES = 100 * 2**20  # by which memory may grow
# Seconds of the wall clock for an answer: 20 of CPU are allowed, and the machine may be busy.
_PATIENCE = 600.0
_VICTIM_PAUSE = 0.005


@dataclass(slots=True)
class Call:
    """A request, sent `times` times concurrently."""

    method: str
    path: str
    body: Any = None
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1


@dataclass(slots=True)
class Case:
    """Setup requests of an administrator, sent once, and attack requests of the tenant. `watches`
    are paths that the tenant watches meanwhile."""

    calls: list[Call]
    setup: list[Call] = field(default_factory=list)
    watches: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Damage:
    """How long the loop was blocked (CPU time of its thread), the peak growth of memory, the
    longest wait of another user, and the status codes of the tenant's requests."""

    held: float
    grown: int
    waited: float
    answers: list[int]

    @property
    def score(self) -> float:
        """Relative to the limits: 1 is just allowed."""
        return max(self.held / MAX_SECONDS, self.grown / MAX_BYTES)

    def __str__(self) -> str:
        return (
            f"held {self.held * 1000:.0f} ms, memory +{self.grown >> 20} MB,"
            f" others waited {self.waited * 1000:.0f} ms, answers {sorted(set(self.answers))}"
        )


class Target:
    """A server with a tenant that owns a namespace. Setups stay, so a case may see those of
    others."""

    def __init__(self, directory: Path, dialect: str) -> None:
        report = directory / "stalls"
        report.touch()
        flags = ("--request-timeout", f"{_PATIENCE:g}s")
        patient = f"from fairlead.api import parameters as p; p._BRIEF_SECONDS = {_PATIENCE}"
        first = f"{prelude(report)}; {patient}"
        self.server = ServerProcess(directory, dialect, flags, first).start()
        self.dialect = self.server.dialect
        self.admin = self.server.client()
        self.tenant = self.server.client(TENANT_TOKEN)
        self.admin.patience = self.tenant.patience = _PATIENCE
        self._stalls = Report(report)
        self._done: set[str] = set()
        self._prepare()

    def _prepare(self) -> None:
        rbac = self.dialect.group_name("rbac.authorization.@")
        subject = {"kind": "User", "name": "alice", "apiGroup": rbac}
        role = {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": rbac}
        binding = {"metadata": {"name": "all"}, "subjects": [subject], "roleRef": role}
        must(self.admin.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}))
        path = f"/apis/{rbac}/v1/namespaces/{NAMESPACE}/rolebindings"
        must(self.admin.post(path, binding))
        self.victim_path = "/api/v1/namespaces/default/configmaps/victim"
        must(self.admin.post(self.victim_path.rpartition("/")[0], {"metadata": {"name": "victim"}}))
        self._warm_up()

    def _warm_up(self) -> None:
        """Trigger lazy imports and caches, so that they are not counted as damage."""
        container = {"name": "c", "image": "i"}
        pod = {"metadata": {"name": "warm"}, "spec": {"containers": [container]}}
        typed = {"apiVersion": "v1", "kind": "Pod", **pod}
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        must(self.tenant.post(path, typed))
        for kind in ("strategic-merge-patch+json", "merge-patch+json"):
            labels = {"metadata": {"labels": {"a": kind[:5]}}}
            must(self.tenant.patch(f"{path}/warm", labels, kind=f"application/{kind}"))
        apply = "application/apply-patch+yaml"
        must(self.tenant.patch(f"{path}/warm", typed, kind=apply, fieldManager="m", force=1))
        must(self.tenant.delete(f"{path}/warm", gracePeriodSeconds=0))

    def close(self) -> None:
        self.server.kill()

    @property
    def is_alive(self) -> bool:
        return self.server.process is not None and self.server.process.poll() is None

    def measure(self, case: Case) -> Damage:
        """Send a case and measure its damage."""
        for call in case.setup:
            self._set_up(call)
        watches = [self.tenant.watch(path) for path in case.watches]
        readers = [threading.Thread(target=_drain, args=(watch,), daemon=True) for watch in watches]
        for reader in readers:
            reader.start()
        try:
            return self._measure(case.calls)
        finally:
            for watch in watches:
                watch._connection.sock.close()

    def _set_up(self, call: Call) -> None:
        known = f"{call.method} {call.path} {hash(str(call.body))}"
        if known in self._done:
            return
        answer = _send(self.admin, call)
        if answer.status not in (200, 201, 409):
            raise AssertionError(f"{call.method} {call.path}: {answer.text[:400]}")
        self._done.add(known)
        if call.path.endswith("/customresourcedefinitions"):
            self._await_definition(call.body)

    def _await_definition(self, body: Object) -> None:
        spec = body["spec"]
        path = f"/apis/{spec['group']}/v1/{spec['names']['plural']}"
        until = time.monotonic() + 20
        while self.admin.get(path).status != 200:
            assert time.monotonic() < until, path
            time.sleep(0.01)

    def _measure(self, calls: Sequence[Call]) -> Damage:
        self._await_recorded()
        self._stalls.longest()
        before = self.server.resident_bytes()
        Path(f"/proc/{self.server.pid}/clear_refs").write_text("5")  # reset the peak RSS
        with _Victim(self.admin.clone(), self.victim_path) as victim:
            answers = [answer for call in calls for answer in self._send_all(call)]
            self._await_recorded()
        return Damage(
            self._stalls.longest(), max(self._highest() - before, 0), victim.waited, answers
        )

    def _await_recorded(self) -> None:
        """Wait until the stalls of what was answered are recorded: at the latest in the turn of the
        loop that answers the second request."""
        for _ in range(3):
            time.sleep(2 * TICK)
            self.admin.get(self.victim_path)

    def _send_all(self, call: Call) -> list[int]:
        if call.times == 1:
            return [_send(self.tenant, call).status]

        def one(_: int) -> int:
            client = self.tenant.clone()
            try:
                return _send(client, call).status
            finally:
                client.close()

        with ThreadPoolExecutor(call.times) as pool:
            return list(pool.map(one, range(call.times)))

    def _highest(self) -> int:
        status = Path(f"/proc/{self.server.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) * 1024


class _Victim:
    """Another user, who sends a small request repeatedly."""

    def __init__(self, client: Client, path: str) -> None:
        self.waited = 0.0
        self._client = client
        self._path = path
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def _ask(self) -> None:
        while not self._ended.wait(_VICTIM_PAUSE):
            began = time.monotonic()
            self._client.get(self._path)
            self.waited = max(self.waited, time.monotonic() - began)

    def __enter__(self) -> _Victim:
        self._client.get(self._path)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._client.close()


def _send(client: Client, call: Call) -> Answer:
    headers = {"Content-Type": call.kind, **call.headers}
    return client.request(call.method, call.path, call.body, headers=headers)


def _drain(watch: Watch) -> None:
    try:
        while watch._response.read1(1 << 16):
            pass
    except (OSError, ValueError, AttributeError, HTTPException):
        pass  # closed by its opener


def must(answer: Answer) -> None:
    assert answer.status in (200, 201), answer.text
