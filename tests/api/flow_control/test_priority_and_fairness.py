"""Priority and fairness over HTTP: waiting, refused and exempt requests."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.client import Client
from support.held_answers import PRELUDE
from support.namespaces import Space, random_word
from support.process import ServerProcess
from support.waiting import eventually

GROUP = "/apis/flowcontrol.apiserver.k8s.io/v1beta2"
DUMPS = "/debug/api_priority_and_fairness"
PATH = "/api/v1/namespaces/default/configmaps"
FLAGS = (
    *("--max-requests-inflight", "2", "--max-mutating-requests-inflight", "0"),
    *("--request-timeout", "16s", "--authorization-mode", "AlwaysAllow"),
)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with so few seats that each level has one."""
    directory = tmp_path_factory.mktemp("narrow")
    running = ServerProcess(directory, "kubernetes", FLAGS, PRELUDE).start()
    yield running
    running.kill()


class Level:
    """A priority level with one seat, and its flow schema: flows by user, for users whose names
    begin with that of the level."""

    def __init__(
        self, server: ServerProcess, directory: Path, length: int = 2, queues: int = 64
    ) -> None:
        self.server = server
        self.client = server.client()
        self.name = random_word()
        self.users = {name: f"{self.name}-{name}" for name in ("noisy", "quiet")}
        self._directory = directory
        self._open: list[http.client.HTTPSConnection] = []
        queuing = {"queues": queues, "handSize": 1, "queueLengthLimit": length}
        response = {"type": "Queue", "queuing": queuing}
        limited = {"assuredConcurrencyShares": 1, "limitResponse": response}
        self.uid = self._create(
            "prioritylevelconfigurations", {"type": "Limited", "limited": limited}
        )
        every = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
        subjects = [{"kind": "User", "user": {"name": name}} for name in self.users.values()]
        self.schema_uid = self._create(
            "flowschemas",
            {
                "priorityLevelConfiguration": {"name": self.name},
                "matchingPrecedence": 100,
                "distinguisherMethod": {"type": "ByUser"},
                "rules": [{"subjects": subjects, "resourceRules": [every]}],
            },
        )

    def _create(self, resource: str, spec: dict[str, Any]) -> str:
        answer = self.client.post(
            f"{GROUP}/{resource}", {"metadata": {"name": self.name}, "spec": spec}
        )
        assert answer.status == 201, answer.text
        uid: str = answer.body["metadata"]["uid"]
        return uid

    def send(self, user: str = "noisy", until: str = "") -> http.client.HTTPSConnection:
        """A list that is answered when `let` is called with the same word."""
        headers = {"Impersonate-User": self.users[user]}
        if until:
            headers["X-Until"] = str(self._directory / until)
        connection = self.client.connect()
        connection.request("GET", PATH, headers=self.client.head_of(headers))
        self._open.append(connection)
        return connection

    def let(self, until: str) -> None:
        (self._directory / until).touch()

    def row(self) -> list[str]:
        """Return the row of this level in the dump."""
        lines = self.client.get(f"{DUMPS}/dump_priority_levels").text.splitlines()
        texts = [line for line in lines if line.startswith(f"{self.name},")]
        return [cell.strip() for cell in texts[0].split(",")] if texts else []

    def fill(self, waiting: int, until: str = "end") -> list[http.client.HTTPSConnection]:
        """Take the seat and let so many others wait for it."""
        sent = [self.send(until=until)]
        eventually(lambda: self.row()[5] == "1", "the seat is taken")
        sent += [self.send(until=until) for _ in range(waiting)]
        eventually(lambda: self.row()[4] == str(waiting), "the others wait")
        return sent

    def metric(self, name: str, **labels: str) -> float:
        labels = {"flow_schema": self.name, "priority_level": self.name, **labels}
        content = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
        start = f"apiserver_flowcontrol_{name}{{{content}}} "
        lines = self.client.get("/metrics").text.splitlines()
        return next((float(line.split()[-1]) for line in lines if line.startswith(start)), 0.0)

    def close(self) -> None:
        self.let("end")
        for connection in self._open:
            connection.close()
        for resource in ("flowschemas", "prioritylevelconfigurations"):
            self.client.delete(f"{GROUP}/{resource}/{self.name}")
        self.client.close()


@pytest.fixture
def level(narrow: ServerProcess, tmp_path: Path) -> Iterator[Level]:
    level = Level(narrow, tmp_path)
    yield level
    level.close()


def status(connection: http.client.HTTPSConnection) -> int:
    return connection.getresponse().status


def test_answers_say_what_they_were_classified_as(level: Level) -> None:
    answer = level.send().getresponse()
    assert answer.headers["X-Kubernetes-PF-FlowSchema-UID"] == level.schema_uid
    assert answer.headers["X-Kubernetes-PF-PriorityLevel-UID"] == level.uid


@pytest.mark.both_dialects
def test_every_dialect_has_headers_of_its_own(space: Space) -> None:
    marker = space.server.dialect.marker
    for answer in (space.secrets.list(), space.client.get("/version"), space.secrets.get("none")):
        assert f"X-{marker}-PF-FlowSchema-UID" in answer.headers
        assert f"X-{marker}-PF-PriorityLevel-UID" in answer.headers


def test_refusals_are_classified_unless_nobody_knows_who_asks(kubernetes: Space) -> None:
    refused = kubernetes.server.client("alice-token").get("/api/v1/nodes")
    assert refused.status == 403
    assert "X-Kubernetes-PF-FlowSchema-UID" in refused.headers
    unknown = kubernetes.server.client("wrong").get("/api/v1/nodes")
    assert unknown.status == 401
    assert "X-Kubernetes-PF-FlowSchema-UID" not in unknown.headers


def test_a_request_without_a_seat_waits_for_one(level: Level) -> None:
    sent = level.fill(waiting=2)
    level.let("end")
    assert [status(request) for request in sent] == [200] * 3
    assert level.metric("dispatched_requests_total") == 3
    assert level.metric("request_wait_duration_seconds_count", execute="true") == 2
    assert level.metric("current_inqueue_requests") == 0


def test_a_full_queue_turns_requests_away(level: Level) -> None:
    level.fill(waiting=2)
    answer = level.send().getresponse()
    numbers = json.loads(answer.read())
    assert answer.status == 429
    assert answer.headers["Retry-After"] == "1"
    assert answer.headers["X-Kubernetes-PF-FlowSchema-UID"] == level.schema_uid
    assert (numbers["kind"], numbers["reason"]) == ("Status", "TooManyRequests")
    assert numbers["message"] == (
        "the server has received too many requests and has asked us to try again later"
    )
    assert level.metric("rejected_requests_total", reason="queue-full") == 1


def test_who_waits_for_a_quarter_of_the_deadline_is_turned_away(level: Level) -> None:
    _, waiting = level.fill(waiting=1)
    assert status(waiting) == 429
    assert level.metric("rejected_requests_total", reason="time-out") == 1
    assert level.row()[4] == "0"


def test_who_leaves_waits_no_longer(level: Level) -> None:
    _, first, second = level.fill(waiting=2)
    first.close()
    eventually(lambda: level.row()[4] == "1", "one has left")
    assert level.metric("rejected_requests_total", reason="cancelled") == 1
    level.let("end")
    assert status(second) == 200


def test_a_quiet_user_goes_before_what_a_noisy_one_has_piled_up(
    narrow: ServerProcess, tmp_path: Path
) -> None:
    level = Level(narrow, tmp_path, length=20, queues=100_000)  # so that they share none
    try:
        noisy = level.fill(waiting=1, until="first")
        noisy += [level.send(until="end") for _ in range(10)]
        eventually(lambda: level.row()[4] == "11", "they wait")
        quiet = level.send("quiet")
        eventually(lambda: level.row()[4] == "12", "and so does the other")
        level.let("first")
        assert status(quiet) == 200
        assert int(level.row()[4]) >= 8
        level.let("end")
        assert [status(item) for item in noisy] == [200] * 12
    finally:
        level.close()


def test_masters_never_wait(level: Level) -> None:
    level.fill(waiting=2)
    assert level.client.get(PATH).status == 200


def test_a_watch_holds_no_seat_once_its_first_events_are_sent(level: Level) -> None:
    headers = {"Impersonate-User": level.users["noisy"]}
    watches = [level.client.watch(PATH, headers=headers) for _ in range(3)]
    assert [watch.status for watch in watches] == [200] * 3
    assert status(level.send()) == 200
    for watch in watches:
        watch.close()


def test_a_level_that_is_deleted_serves_those_who_wait(level: Level) -> None:
    sent = level.fill(waiting=2)
    level.client.delete(f"{GROUP}/prioritylevelconfigurations/{level.name}")
    assert level.row()[3] == "true", "it is quiescing"
    answer = level.send().getresponse()
    assert answer.status == 200
    assert answer.headers["X-Kubernetes-PF-FlowSchema-UID"] != level.schema_uid
    level.let("end")
    assert [status(request) for request in sent] == [200] * 3
    eventually(lambda: not level.row(), "it is gone")


def test_more_seats_are_given_to_those_who_wait(level: Level) -> None:
    _, waiting, _ = level.fill(waiting=2, until="first")
    path = f"{GROUP}/prioritylevelconfigurations/{level.name}"
    level.client.patch(path, {"spec": {"limited": {"assuredConcurrencyShares": 100000}}})
    eventually(lambda: level.row()[5] == "2", "two are at work")
    level.let("first")
    assert status(waiting) == 200


def test_the_dumps_show_queues_and_who_waits_in_them(level: Level) -> None:
    level.fill(waiting=1)
    queues = level.client.get(f"{DUMPS}/dump_queues").text.splitlines()
    assert queues[0].split() == [
        *("PriorityLevelName,", "Index,", "PendingRequests,", "ExecutingRequests,", "SeatsInUse,"),
        *("NextDispatchR,", "InitialSeatsSum,", "MaxSeatsSum,", "TotalWorkSum"),
    ]
    own = [line for line in queues if line.startswith(f"{level.name},")]
    assert len(own) == 64
    assert [line.split(",")[2].strip() for line in own].count("1") == 1
    plain = level.client.get(f"{DUMPS}/dump_requests").text.splitlines()
    assert len(plain[0].split(",")) == 9
    details = level.client.get(f"{DUMPS}/dump_requests", includeRequestDetails=1).text
    waiting = [line for line in details.splitlines() if line.startswith(f"{level.name},")]
    cells = [cell.strip() for cell in waiting[0].split(",")]
    user = level.users["noisy"]
    assert cells[1:2] + cells[4:5] == [level.name, user]
    assert cells[9:] == [user, "list", PATH, "default", "", "v1", "configmaps", ""]


def test_the_dumps_are_not_listed(level: Level) -> None:
    paths = level.client.get("/").body["paths"]
    assert not [path for path in paths if path.startswith("/debug")]


def test_only_who_may_sees_the_dumps(kubernetes: Space) -> None:
    path = f"{DUMPS}/dump_requests"
    assert kubernetes.client.get(path).status == 200
    assert kubernetes.server.client("alice-token").get(path).status == 403


def read_only(client: Client) -> float:
    lines = client.get("/metrics").text.splitlines()
    start = 'apiserver_flowcontrol_work_estimated_seats_sum{flow_schema="exempt"'
    return next(float(line.split()[-1]) for line in lines if line.startswith(start))


def test_long_lists_take_more_seats(narrow: ServerProcess) -> None:
    client = narrow.client()
    path = "/api/v1/namespaces/default/secrets"
    for number in range(201):
        assert client.post(path, {"metadata": {"name": f"s-{number}"}}).status == 201
    before = read_only(client)
    client.get(path)
    assert read_only(client) - before == 3 + 1, "and one for the look at the metrics"
    before = read_only(client)
    client.get(path, limit=150)
    assert read_only(client) - before == 2 + 1
