"""The token webhook: a remote service reviews tokens."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from fairlead.auth.authentication.bearer import Audiences, Grant, known_audiences
from fairlead.auth.authentication.chain import Rejected
from fairlead.auth.authentication.user import User, user_bytes, with_authenticated_group
from fairlead.base.caches import BoundedCache, hashed
from fairlead.base.clock import time
from fairlead.wire.outgoing.response import CallError

_TIMEOUT = 10.0  # seconds per call
_RETRY_TIMEOUT = 30.0  # seconds for a call with all retries
_MAX_CACHED = 10_000
_MAX_BYTES = 16 * 1024 * 1024
_MAX_GRANT_BYTES = 4096  # bytes of the audiences and of the user


class Poster(Protocol):
    """Posts JSON to the service with retries; raises CallError."""

    async def post_with_retries(self, body: dict[str, Any], timeout: float) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class _CachedReview:
    """The service's response; no grant means that it does not know the token."""

    grant: Grant | None
    until: float


_Key = tuple[bytes, Audiences]  # hashed token, and requested audiences


class TokenWebhook:
    """Sends a TokenReview and caches the response. Responses with an error and failed calls are not
    cached. Concurrent checks of the same token share one call."""

    def __init__(
        self, poster: Poster, api_version: str, own_audiences: Audiences, keep: float
    ) -> None:
        self._poster = poster
        self._api_version = api_version
        self._own_audiences = own_audiences
        self._keep = keep
        self._cache: BoundedCache[_Key, _CachedReview] = BoundedCache(
            _MAX_CACHED, _MAX_BYTES, _MAX_GRANT_BYTES
        )
        self._asking: dict[_Key, asyncio.Task[Grant | None]] = {}

    async def check(self, token: str, wanted_audiences: Audiences) -> Grant | None:
        key = (hashed(token), wanted_audiences)
        cached = self._cache.get(key)
        if cached is not None:
            if time() < cached.until:
                return cached.grant
            self._cache.drop(key)
        asking = self._asking.get(key)
        if asking is None:
            asking = asyncio.create_task(self._review(key, token, wanted_audiences))
            self._asking[key] = asking
            asking.add_done_callback(lambda _: self._asking.pop(key, None))
        return await asyncio.shield(asking)

    async def _review(self, key: _Key, token: str, wanted_audiences: Audiences) -> Grant | None:
        status = await self._ask(token, wanted_audiences)
        grant = self._grant(status, wanted_audiences)
        error = status.get("error")
        if grant is None and isinstance(error, str) and error:
            shown = _redacted(token, error)
            raise Rejected(shown, message=shown, kinds=["the token webhook refuses a token"])
        if self._keep > 0:
            verdict = _CachedReview(grant, time() + self._keep)
            length = sum(map(len, wanted_audiences)) + (user_bytes(grant.user) if grant else 0)
            self._cache.keep(key, verdict, length)
        return grant

    async def _ask(self, token: str, wanted_audiences: Audiences) -> dict[str, Any]:
        spec: dict[str, Any] = {"token": token.encode("latin-1").decode(errors="replace")}
        if wanted_audiences:
            spec["audiences"] = list(wanted_audiences)
        review = {
            "kind": "TokenReview",
            "apiVersion": self._api_version,
            "metadata": {"creationTimestamp": None},
            "spec": spec,
            "status": {"user": {}},
        }
        try:
            async with asyncio.timeout(_RETRY_TIMEOUT):
                answer = await self._poster.post_with_retries(review, _TIMEOUT)
        except TimeoutError:
            raise Rejected("the token webhook does not answer") from None
        except CallError as error:
            raise Rejected(f"the token webhook failed: {error.brief}") from None
        if answer.get("apiVersion") != self._api_version or answer.get("kind") != "TokenReview":
            raise Rejected(f"the token webhook did not answer with a {self._api_version} review")
        status = answer.get("status")
        return status if isinstance(status, dict) else {}

    def _grant(self, status: dict[str, Any], wanted_audiences: Audiences) -> Grant | None:
        shared: Audiences = ()
        if wanted_audiences:
            shared = known_audiences(
                _texts(status.get("audiences")) or self._own_audiences, wanted_audiences
            )
            if not shared:
                return None
        if status.get("authenticated") is not True:
            return None
        user = _user(status.get("user"))
        return Grant(user, shared, time() + self._keep)


def _redacted(token: str, text: str) -> str:
    """Remove the token from an error text, in which the service may repeat it."""
    return text.replace(token, "<token>")


def _user(value: object) -> User:
    user = value if isinstance(value, dict) else {}
    name, uid = user.get("username"), user.get("uid")
    if not isinstance(name, str) or not name:
        raise Rejected("the token webhook answered without a user name")
    extra = user.get("extra")
    listed = extra.items() if isinstance(extra, dict) else ()
    return with_authenticated_group(
        User(
            name,
            uid if isinstance(uid, str) else "",
            _texts(user.get("groups")),
            {key: _texts(values) for key, values in listed},
        )
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
