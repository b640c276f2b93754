"""Audit: every request has exactly one ResponseComplete event, and no event has a secret."""

from __future__ import annotations

import base64
import itertools
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.audited import Audited, Event, config_maps
from support.client import Answer, Client
from support.failing_answers import PRELUDE as FAILING
from support.slow_answers import PRELUDE as SLOW
from support.waiting import eventually
from support.wire import Wire

SECRETS = "/api/v1/namespaces/plain/secrets"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
TOKENS = "/api/v1/namespaces/plain/serviceaccounts/default/token"
TOO_LONG = 3 * 1024 * 1024 + 1


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """A server with injected delays and failures, and short timeouts."""
    few = (
        *("--request-timeout", "1s", "--max-mutating-requests-inflight", "1"),
        "--enable-priority-and-fairness=false",
    )
    directory = tmp_path_factory.mktemp("odd")
    audited = Audited(directory, *few, prelude=f"{SLOW}; {FAILING}")
    yield audited
    audited.server.stop()


class Asking:
    """Makes requests of all kinds at random and keeps how each was answered, by its id."""

    def __init__(self, audited: Audited, seed: int) -> None:
        self.audited = audited
        self.random = random.Random(seed)
        self.admin = audited.server.client()
        self.alice = audited.server.client("alice-token")
        self.answered: dict[str, int] = {}
        self.cut: list[str] = []
        self.canaries: list[bytes] = []
        self._numbers = itertools.count()
        self._seed = seed

    def canary(self) -> str:
        message = f"canary{self._seed}x{self.random.getrandbits(64):016x}"
        self.canaries.append(message.encode())
        return message

    def new_id(self) -> str:
        return f"{self._seed}-{next(self._numbers)}"

    def ask(self, client: Client, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        audit_id = self.new_id()
        headers = {"Audit-ID": audit_id, **more.pop("headers", {})}
        answer = client.request(method, path, body, headers=headers, **more)
        assert answer.headers["Audit-Id"] == audit_id
        self.answered[audit_id] = answer.status
        return answer

    def name(self) -> str:
        return self.random.choice("abc")

    # What can be asked

    def write_secret(self) -> None:
        data = base64.b64encode(self.canary().encode()).decode()
        self.canaries.append(data.encode())
        body = {"metadata": {"name": self.name()}, "data": {"key": data}}
        self.ask(self.admin, "POST", SECRETS, body)
        self.ask(self.admin, "PUT", f"{SECRETS}/{body['metadata']['name']}", body)

    def write_faulty_secret(self) -> None:
        text = self.canary()
        body: Any = self.random.choice(
            [
                f'{{"metadata": {{"name": "a"}}, "stringData": {{"key": "{text}"',
                {"metadata": {"name": "a"}, "data": {"key": f"{text}!"}},
                {"metadata": {"name": "a"}, "data": text},
                {"metadata": {"name": "a"}, "type": "kubernetes.io/tls", "stringData": {"k": text}},
                {"metadata": {"name": "A_"}, "stringData": {f"{text}/": text}},
                text,
            ]
        )
        self.ask(self.admin, "POST", SECRETS, body)
        self.ask(self.admin, "PUT", f"{SECRETS}/a", body)
        for kind in ("merge-patch+json", "json-patch+json", "apply-patch+yaml"):
            headers = {"Content-Type": f"application/{kind}"}
            path = f"{SECRETS}/{self.name()}"
            self.ask(self.admin, "PATCH", path, body, headers=headers, fieldManager="me")

    def read(self) -> None:
        client = self.random.choice([self.admin, self.alice])
        accept = self.random.choice(["*/*", "application/yaml", "a/b"])
        for path in (SECRETS, f"{SECRETS}/{self.name()}", "/version", "/nowhere", "/apis"):
            self.ask(client, "GET", path, headers={"Accept": accept})

    def delete(self) -> None:
        self.ask(self.admin, "DELETE", f"{SECRETS}/{self.name()}")
        self.ask(self.alice, "DELETE", SECRETS)

    def review_token(self) -> None:
        spec: Any = self.random.choice([{"token": self.canary()}, {"token": [self.canary()]}])
        self.ask(self.admin, "POST", REVIEWS, {"spec": spec})

    def request_token(self) -> None:
        answer = self.ask(self.admin, "POST", TOKENS, {"spec": {"audiences": ["me"]}})
        if answer.status == 201:
            self.canaries.append(answer.body["status"]["token"].encode())

    def request_certificate(self) -> None:
        key = f"-----BEGIN PRIVATE KEY-----\n{self.canary()}\n-----END PRIVATE KEY-----\n"
        sent = self.random.choice([key, base64.b64encode(key.encode()).decode()])
        self.canaries.append(base64.b64encode(key.encode())[40:80])
        spec = {"request": sent, "signerName": self.random.choice(["a/b", key]), "usages": ["any"]}
        self.ask(self.admin, "POST", REQUESTS, {"metadata": {"name": self.name()}, "spec": spec})

    def show_wrong_credentials(self) -> None:
        text = self.canary()
        basic = base64.b64encode(f"me:{text}".encode()).decode()
        self.canaries.append(basic.encode())
        for value in (f"Bearer {text}", f"Basic {basic}", text):
            self.ask(self.admin, "GET", SECRETS, headers={"Authorization": value})
        self.ask(self.admin, "GET", f"/version?access_token={text}&token={text}&%74oken={text}")

    def impersonate(self) -> None:
        client = self.random.choice([self.admin, self.alice])
        self.ask(client, "GET", SECRETS, headers={"Impersonate-User": "jane"})
        self.ask(client, "GET", SECRETS, headers={"Impersonate-Group": "dev"})

    def be_odd(self) -> None:
        self.ask(self.admin, "GET", SECRETS, timeout=self.random.choice(["1s", "soon"]))
        self.ask(self.admin, "OPTIONS", SECRETS)
        self.ask(self.admin, "GET", SECRETS, limit="many", fieldSelector="=")
        self.ask(self.admin, "POST", SECRETS, self.canary(), headers={"Content-Type": "a/b"})

    def watch(self) -> None:
        client = self.random.choice([self.admin, self.alice])
        version = self.random.choice(["", "0", "1", "99999999", "x"])
        seconds = self.random.choice(["1", "x"])
        self.ask(client, "GET", SECRETS, watch=1, resourceVersion=version, timeoutSeconds=seconds)

    def fail(self) -> None:
        answer = self.ask(self.admin, "GET", SECRETS, headers={"X-Fail": self.canary()})
        assert answer.status == 500

    def cut_off(self) -> None:
        audit_id = self.new_id()
        self.cut.append(audit_id)
        wire = Wire(self.audited.server)
        headers = (f"Audit-ID: {audit_id}", "Content-Length: 1000")
        wire.ask(f"POST {SECRETS}", *headers, body=self.canary().encode())
        eventually(lambda: bool(self.audited.of_id(audit_id)), "the server has begun")
        wire.close()

    def send_too_much(self) -> None:
        answer = self.ask(self.admin, "POST", SECRETS, b" " * TOO_LONG)
        assert answer.status == 413

    def wait_too_long(self) -> None:
        answer = self.ask(self.admin, "GET", SECRETS, headers={"X-Hold": "5"})
        assert answer.status == 504

    def come_at_once(self) -> None:
        """More than are let in at the same time; alice is not exempt, and may do nothing else."""
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        body = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}

        def ask() -> None:
            client = self.alice.clone()
            self.ask(client, "POST", path, body, headers={"X-Hold": "0.3"})
            client.close()

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert 429 in self.answered.values()

    def all_kinds(self) -> list[Callable[[], None]]:
        cheap = [self.write_secret, self.write_faulty_secret, self.read, self.delete]
        cheap += [self.review_token, self.request_token, self.request_certificate]
        cheap += [self.show_wrong_credentials, self.impersonate, self.be_odd, self.fail]
        cheap = self.random.choices(cheap, k=60) + cheap
        slow = [self.watch, self.cut_off, self.send_too_much, self.wait_too_long]
        results = [*cheap, *slow, self.come_at_once, self.watch]
        self.random.shuffle(results)
        return results


def is_end(event: Event) -> bool:
    return bool(event["stage"] == "ResponseComplete")


def ends_of(audited: Audited) -> list[str]:
    return [event["auditID"] for event in audited.events() if is_end(event)]


@pytest.mark.parametrize("seed", [1])
def test_every_answered_request_has_one_end_and_no_secret_is_told(odd: Audited, seed: int) -> None:
    asking = Asking(odd, seed)
    for ask in asking.all_kinds():
        ask()
    eventually(lambda: {*asking.cut, *asking.answered} <= set(ends_of(odd)), "all have an end")
    counted = Counter(ends_of(odd))
    assert {answer for answer in asking.answered if counted[answer] != 1} == set()
    assert {item for item in asking.cut if counted[item] != 1} == set()
    codes = {
        event["auditID"]: event["responseStatus"]["code"] for event in odd.events() if is_end(event)
    }
    assert {answer: codes[answer] for answer in asking.answered} == asking.answered
    written = odd.log.read_bytes()
    assert [
        canary
        for canary in asking.canaries
        if canary in written or canary.hex().encode() in written
    ] == []


def test_a_failure_of_the_server_is_a_panic_and_an_answer(odd: Audited) -> None:
    answer = odd.client.get(config_maps("plain"), headers={"X-Fail": "canary"})
    reported = odd.of(answer)
    assert [event["stage"] for event in reported] == [
        "RequestReceived",
        "Panic",
        "ResponseComplete",
    ]
    assert reported[1]["responseStatus"]["message"] == "APIServer panic'd: ValueError"
    assert reported[2]["responseStatus"]["reason"] == "InternalError"


def test_a_request_that_is_cut_off_has_an_end(odd: Audited) -> None:
    wire = Wire(odd.server)
    wire.ask(f"POST {SECRETS}", "Audit-ID: cut", "Content-Length: 10", body=b"{")
    odd.wait_for("cut", "RequestReceived")
    wire.close()
    status = odd.wait_for("cut", "ResponseComplete")["responseStatus"]
    assert (status["code"], status["message"]) == (500, "unexpected EOF")


def test_the_message_of_a_faulty_secret_is_left_out(odd: Audited) -> None:
    answer = odd.client.post(SECRETS, {"metadata": {"name": "A"}, "type": "x"})
    assert answer.status == 422
    status = odd.last(answer)["responseStatus"]
    assert "left out" in status["message"]
    assert status["reason"] == "Invalid"
    assert status["details"]["causes"][0] == {
        "reason": "FieldValueInvalid",
        "field": "metadata.name",
    }


def test_the_log_stays_for_its_owner_alone(odd: Audited) -> None:
    paths: list[Path] = [odd.log, odd.log.parent]
    assert [json.dumps(path.stat().st_mode & 0o077) for path in paths] == ["0", "0"]
