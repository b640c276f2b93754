"""Reading bearer tokens, the order of methods, and the cache."""

from __future__ import annotations

import time
from math import inf

import pytest
from support.authentication import FakeRequest, bearer, run, user_of

from fairlead.auth.authentication.bearer import (
    Audiences,
    BearerTokens,
    Grant,
    TokenCache,
    bearer_token,
)
from fairlead.auth.authentication.chain import Authenticator, Rejected
from fairlead.auth.authentication.user import ANONYMOUS, User
from fairlead.base.errors import StatusError

JANE = User("jane", "1", ("dev", "system:authenticated"))


@pytest.mark.parametrize(
    ("header", "token", "spaced"),
    [
        ("Bearer x", "x", False),
        ("bearer x", "x", False),
        ("BEARER x", "x", False),
        ("Bearer x y", "x", False),
        ("Bearer", "", False),
        ("Bearer ", "", False),
        ("Bearer  x", "", True),
        ("Basic eDp5", "", False),
        ("Token x", "", False),
        ("Bearerx", "", False),
        ("", "", False),
    ],
)
def test_header(header: str, token: str, spaced: bool) -> None:
    assert bearer_token(header) == (token, spaced)


class Method:
    """Accepts one token, rejects another, and counts calls."""

    def __init__(self, good: str, bad: str = "", until: float = inf) -> None:
        self.good, self.bad, self.until = good, bad, until
        self.calls = 0

    async def check(self, token: str, audiences: Audiences) -> Grant | None:
        self.calls += 1
        if token == self.bad:
            raise Rejected("it is wrong")
        anchors = (("core/v1/secrets", "ns/s"),)
        return Grant(JANE, audiences, self.until, anchors) if token == self.good else None


def test_first_success_ends_it_and_is_remembered() -> None:
    first, second = Method("a"), Method("b")
    tokens = BearerTokens([first, second], ("api",))
    for _ in range(3):
        assert user_of(tokens.authenticate(bearer("a"))) is JANE
        assert user_of(tokens.authenticate(bearer("b"))) is JANE
    assert (first.calls, second.calls) == (2, 1)


def test_rejection_does_not_keep_the_next_method_from_being_asked() -> None:
    tokens = BearerTokens([Method("a", bad="b"), Method("b")], ())
    assert user_of(tokens.authenticate(bearer("b"))) is JANE


def test_unknown_token_is_401_and_not_anonymous() -> None:
    chain = Authenticator([BearerTokens([Method("a")], ())], anonymous=True)
    with pytest.raises(StatusError) as caught:
        user_of(chain.authenticate(bearer("other")))
    assert (caught.value.code, caught.value.message) == (401, "Unauthorized")


@pytest.mark.parametrize("header", ["Basic eDp5", "Bearer ", "Token a", "Bearer  a"])
def test_no_bearer_token_is_anonymous(header: str) -> None:
    chain = Authenticator([BearerTokens([Method("a")], ())], anonymous=True)
    request = FakeRequest(("Authorization", header))
    assert user_of(chain.authenticate(request)) is ANONYMOUS
    assert bool(request.warnings) == (header == "Bearer  a")


def test_anonymous_switched_off() -> None:
    with pytest.raises(StatusError) as caught:
        user_of(Authenticator([]).authenticate(FakeRequest()))
    assert caught.value.code == 401


def test_only_the_first_authorization_header_counts() -> None:
    tokens = BearerTokens([Method("a")], ())
    request = FakeRequest(("Authorization", "Bearer bad"), ("Authorization", "Bearer a"))
    with pytest.raises(Rejected):
        user_of(tokens.authenticate(request))


def test_other_spellings_are_not_cached() -> None:
    tokens = BearerTokens([Method("a")], ())
    for number in range(5):
        assert user_of(tokens.authenticate(bearer(f"a junk{number}"))) is JANE
    assert len(tokens.cache) == 0


def test_cache_forgets_at_expiry() -> None:
    method = Method("a", until=time.time() + 0.05)
    tokens = BearerTokens([method], ())
    user_of(tokens.authenticate(bearer("a")))
    time.sleep(0.06)
    user_of(tokens.authenticate(bearer("a")))
    assert method.calls == 2


def test_cache_forgets_with_an_anchor() -> None:
    method = Method("a")
    tokens = BearerTokens([method], ())
    user_of(tokens.authenticate(bearer("a")))
    tokens.cache.forget(("core/v1/secrets", "ns/other"))
    user_of(tokens.authenticate(bearer("a")))
    assert method.calls == 1
    tokens.cache.forget(("core/v1/secrets", "ns/s"))
    user_of(tokens.authenticate(bearer("a")))
    assert method.calls == 2


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.auth.authentication.bearer._MAX_CACHED", 3)
    cache = TokenCache()
    for number in range(10):
        cache.add(str(number).encode(), Grant(JANE, (), anchors=(("r", str(number)),)))
    assert len(cache) == 3
    assert len(cache._anchored) == 3


def test_failures_are_not_remembered() -> None:
    method = Method("a")
    tokens = BearerTokens([method], ())
    for _ in range(2):
        with pytest.raises(Rejected):
            user_of(tokens.authenticate(bearer("other")))
    assert method.calls == 2
    assert len(tokens.cache) == 0


def test_review_tells_reasons_once() -> None:
    tokens = BearerTokens([Method("a", bad="b")], ("api",))
    assert run(tokens.review("a", ("x",))).audiences == ("x",)
    assert run(tokens.review("a", ())).audiences == ("api",)
    for token, reasons in (
        ("b", ("invalid bearer token", "it is wrong")),
        ("c", ("invalid bearer token",)),
        (" a", ("invalid bearer token",)),
    ):
        with pytest.raises(Rejected) as caught:
            run(tokens.review(token, ()))
        assert caught.value.reasons == reasons
