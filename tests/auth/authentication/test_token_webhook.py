"""The token webhook against a TLS server that requires our certificate."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.authentication import Certificate, JsonServer, make_ca, make_certificate, run

from fairlead.auth.authentication.bearer import Grant
from fairlead.auth.authentication.chain import Rejected
from fairlead.auth.authentication.user import User
from fairlead.auth.authentication.webhook import TokenWebhook
from fairlead.wire.outgoing.client_config import load_client_config
from fairlead.wire.outgoing.json_calls import JsonPoster

V1, BETA = "authentication.k8s.io/v1", "authentication.k8s.io/v1beta1"
JANE = {
    "username": "jane",
    "uid": "7",
    "groups": ["dev"],
    "extra": {"scopes": ["view", "edit"]},
}


class Reviewer(JsonServer):
    """Answers with `status`, in the version of the request."""

    def __init__(self, directory: Path) -> None:
        self.client_ca: Certificate = make_ca(directory, "our-ca")
        self.status: Any = {"authenticated": True, "user": JANE}
        self.code = 200
        super().__init__(directory, self.review, self.client_ca)

    def review(self, body: dict[str, Any]) -> tuple[int, Any]:
        answer = {"apiVersion": body["apiVersion"], "kind": "TokenReview", "status": self.status}
        return self.code, answer


@pytest.fixture
def reviewer(tmp_path: Path) -> Iterator[Reviewer]:
    running = Reviewer(tmp_path)
    yield running
    running.stop()


class Hook:
    """The method under test; each `check` runs on a new event loop."""

    def __init__(
        self, reviewer: Reviewer, directory: Path, version: str = BETA, keep: float = 120.0
    ) -> None:
        user = make_certificate(directory, "apiserver", reviewer.client_ca)
        self._config = load_client_config(reviewer.client_config(directory, user))
        self.method = TokenWebhook(JsonPoster(self._config), version, ("api",), keep)

    def check(self, token: str = "secret", audiences: tuple[str, ...] = ("api",)) -> Grant | None:
        async def ask() -> Grant | None:
            poster = self.method._poster = JsonPoster(self._config)
            try:
                return await self.method.check(token, audiences)
            finally:
                await poster.close()

        return run(ask())

    def rejection(self, token: str = "secret") -> Rejected:
        with pytest.raises(Rejected) as caught:
            self.check(token)
        return caught.value


@pytest.fixture
def hook(reviewer: Reviewer, tmp_path: Path) -> Hook:
    return Hook(reviewer, tmp_path)


@pytest.mark.parametrize("version", [V1, BETA])
def test_question_and_answer(reviewer: Reviewer, tmp_path: Path, version: str) -> None:
    grant = Hook(reviewer, tmp_path, version).check()
    assert grant is not None
    extra = {"scopes": ("view", "edit")}
    assert grant.user == User("jane", "7", ("dev", "system:authenticated"), extra)
    assert grant.audiences == ("api",)
    request = reviewer.requests[0]
    assert request["apiVersion"] == version
    assert request["kind"] == "TokenReview"
    assert request["spec"] == {"token": "secret", "audiences": ["api"]}


def test_answers_are_kept(reviewer: Reviewer, hook: Hook) -> None:
    for _ in range(3):
        assert hook.check() is not None
    assert len(reviewer.requests) == 1
    hook.check("other")
    hook.check("secret", ("x",))
    assert len(reviewer.requests) == 3


def test_unknown_tokens_are_kept_too(reviewer: Reviewer, hook: Hook) -> None:
    reviewer.status = {"authenticated": False}
    assert hook.check() is None
    assert hook.check() is None
    assert len(reviewer.requests) == 1


def test_answers_are_kept_no_longer_than_asked(reviewer: Reviewer, tmp_path: Path) -> None:
    hook = Hook(reviewer, tmp_path, keep=0.1)
    first = hook.check()
    assert first is not None
    assert first.until <= time.time() + 0.1
    reviewer.status = {"authenticated": False}
    time.sleep(0.11)
    assert hook.check() is None
    off = Hook(reviewer, tmp_path, keep=0.0)
    off.check()
    off.check()
    assert len(reviewer.requests) == 4


def test_error_text_is_shown_and_not_kept(reviewer: Reviewer, hook: Hook) -> None:
    reviewer.status = {"authenticated": False, "error": "the token secret was revoked"}
    rejection = hook.rejection()
    assert rejection.message == "the token <token> was revoked"
    reviewer.status = {"authenticated": True, "user": JANE, "error": "ignored"}
    assert hook.check() is not None


def test_audiences(reviewer: Reviewer, hook: Hook) -> None:
    reviewer.status = {"authenticated": True, "user": JANE, "audiences": ["vault", "api"]}
    grant = hook.check("a", ("api", "vault"))
    assert grant is not None
    assert grant.audiences == ("vault", "api")
    assert hook.check("b", ("other",)) is None
    reviewer.status = {"authenticated": True, "user": JANE}
    assert hook.check("c", ("vault",)) is None  # no audiences: good for this API only
    assert hook.check("d", ("vault", "api")) is not None


@pytest.mark.parametrize(
    "status",
    [
        {"authenticated": True},
        {"authenticated": True, "user": {}},
        {"authenticated": True, "user": {"username": ""}},
        {"authenticated": True, "user": {"username": 7}},
    ],
    ids=str,
)
def test_answers_without_a_user(reviewer: Reviewer, hook: Hook, status: Any) -> None:
    reviewer.status = status
    assert "without a user name" in str(hook.rejection())


@pytest.mark.parametrize("status", [None, [], "yes", {}, {"authenticated": "true"}], ids=str)
def test_odd_answers_authenticate_nobody(reviewer: Reviewer, hook: Hook, status: Any) -> None:
    reviewer.status = status
    assert hook.check() is None


def test_answer_in_another_version(reviewer: Reviewer, hook: Hook) -> None:
    reviewer.answer = lambda body: (200, {"apiVersion": V1, "kind": "TokenReview"})
    assert "did not answer with a" in str(hook.rejection())


def test_failures_are_tried_again_and_not_kept(reviewer: Reviewer, hook: Hook) -> None:
    codes = [500, 200]

    def flaky(body: dict[str, Any]) -> tuple[int, Any]:
        reviewer.code = codes.pop(0)
        return reviewer.review(body)

    reviewer.answer = flaky
    assert hook.check() is not None
    assert len(reviewer.requests) == 2


def test_refusals_are_not_tried_again(reviewer: Reviewer, hook: Hook) -> None:
    reviewer.code = 403
    reviewer.status = {"error": "no secret here"}
    rejection = hook.rejection()
    assert "the token webhook failed" in str(rejection)
    assert "secret" not in str(rejection)
    assert len(reviewer.requests) == 1
    reviewer.code, reviewer.status = 200, {"authenticated": True, "user": JANE}
    assert hook.check() is not None


def test_many_questions_at_once_are_one(reviewer: Reviewer, hook: Hook) -> None:
    async def ask() -> None:
        poster = hook.method._poster = JsonPoster(hook._config)
        grants = await asyncio.gather(*(hook.method.check("t", ("api",)) for _ in range(20)))
        assert all(grant is not None for grant in grants)
        await poster.close()

    run(ask())
    assert len(reviewer.requests) == 1
