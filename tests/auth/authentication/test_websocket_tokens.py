"""Tokens in the subprotocols of a WebSocket."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from support.authentication import FakeRequest, user_of

from fairlead.auth.authentication.bearer import Audiences, BearerTokens, Grant
from fairlead.auth.authentication.chain import Authenticator
from fairlead.auth.authentication.user import ANONYMOUS, User
from fairlead.auth.authentication.websocket_tokens import WebSocketTokens, without_tokens
from fairlead.base.dialect import KUBERNETES
from fairlead.base.errors import StatusError

JANE = User("jane", "1", ("dev", "system:authenticated"))
PREFIX = "base64url.bearer.authorization.k8s.io."
GOOD = PREFIX + urlsafe_b64encode(b"good").decode().rstrip("=")


class Good:
    async def check(self, token: str, audiences: Audiences) -> Grant | None:
        return Grant(JANE, audiences) if token == "good" else None


def user_with(
    *protocols: str, upgrade: str = "WebSocket", connection: str = "x, Upgrade"
) -> User | None:
    chain = Authenticator([WebSocketTokens(KUBERNETES, BearerTokens([Good()], ()))], anonymous=True)
    offered = [("Sec-WebSocket-Protocol", protocol) for protocol in protocols]
    head = (("Upgrade", upgrade), ("Connection", connection))
    return user_of(chain.authenticate(FakeRequest(*head, *offered)))


@pytest.mark.parametrize(
    "protocols", [(f"{GOOD}, v4.channel.k8s.io",), (f"x,{GOOD}",), ("x", GOOD)]
)
def test_the_token_tells_who_asks(protocols: tuple[str, ...]) -> None:
    assert user_with(*protocols) == JANE


@pytest.mark.parametrize(
    "protocols",
    [(GOOD,), (f"{GOOD},{GOOD},x",), (f"{PREFIX}!!,x",), (f"{PREFIX}_w,x",), (f"{PREFIX}YmFk,x",)],
)
def test_wrong_offers_are_401_and_not_anonymous(protocols: tuple[str, ...]) -> None:
    with pytest.raises(StatusError) as caught:
        user_with(*protocols)
    assert caught.value.code == 401


def test_without_a_token_or_a_websocket_nobody_is_told() -> None:
    assert user_with("v4.channel.k8s.io") is ANONYMOUS
    assert user_with(f"{PREFIX},x") is ANONYMOUS
    assert user_with(f"{GOOD},x", upgrade="SPDY/3.1") is ANONYMOUS
    assert user_with(f"{GOOD},x", connection="close") is ANONYMOUS


def test_the_token_is_not_passed_on() -> None:
    assert without_tokens(f"a, {GOOD}, b".encode()) == b"a,b"
