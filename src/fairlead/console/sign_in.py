"""Signing in and out: issues links to users with other credentials, and exchanges links for
sessions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from typing import Any, TypeVar

from fairlead.api.answers import Answer
from fairlead.api.request import Request
from fairlead.auth.authentication.authorities import Untrusted
from fairlead.auth.authentication.bearer import Anchor, BearerTokens, bearer_token
from fairlead.auth.authentication.chain import Rejected
from fairlead.auth.authentication.console_sessions import (
    PREFIX,
    ConsoleSessions,
    Session,
    SessionBasis,
)
from fairlead.auth.authentication.expiring_secrets import TooManySecrets
from fairlead.auth.authentication.factory import Authentication
from fairlead.auth.authentication.impersonation import Impersonation, impersonation_headers
from fairlead.auth.authentication.service_accounts import ACCOUNTS
from fairlead.auth.authentication.tokens import BadToken, seconds, unverified
from fairlead.auth.authentication.user import (
    ANONYMOUS,
    ANONYMOUS_NAME,
    UNAUTHENTICATED,
    User,
    split_account_name,
)
from fairlead.auth.authentication.websocket_tokens import refuse_foreign
from fairlead.base.caches import BoundedCache
from fairlead.base.errors import (
    StatusError,
    bad_request,
    internal,
    method_not_allowed,
    too_large,
    too_many_requests,
    unauthorized,
    unsupported_media_type,
)
from fairlead.base.logs import Logger
from fairlead.codec.types.times import format_time
from fairlead.console.files import NO_STORE, SecuredAnswer
from fairlead.operations import tokens as operations_tokens

logger = Logger("fairlead.console")

MAX_BODY_BYTES = 4096
_JSON = "application/json"
_MAX_CONCURRENT = 32
_NOTE, _NOTE_OF_IMPERSONATOR = "console.fairlead.dev/user", "console.fairlead.dev/impersonator"
_BAD_CODE = "the link was used before, or is too old: ask for another one"
_BAD_SESSION = "the session has ended: sign in again"
_BUSY = "too many sign-ins, please try again later"

T = TypeVar("T")


class SignInHandler:
    """Handles the two paths for links and for sessions."""

    def __init__(self, authentication: Authentication, sessions: ConsoleSessions) -> None:
        self._authentication = authentication
        self._sessions = sessions
        self._failures = Failures()
        self._under_way = 0

    async def user_of(self, request: Request) -> User:
        """Return the user of the request's session, for the audit log."""
        session = await self._session(request)
        if session is None:
            return ANONYMOUS
        request.impersonation = session.impersonation
        return session.user

    async def link(self, request: Request) -> Answer:
        """Return a code for the authenticated user of a request."""
        await _sent(request)
        _check_form(request, ("POST",))
        if request.user.name == ANONYMOUS_NAME or UNAUTHENTICATED in request.user.groups:
            raise unauthorized()
        if _token(request).startswith(PREFIX):
            raise StatusError(403, "Forbidden", "a session of the console makes no links")
        basis = await basis_of(self._authentication, request)
        try:
            code, until = await self._in_thread(self._sessions.link, request.user, basis)
        except Rejected as error:
            raise StatusError(403, "Forbidden", f"there can be no session: {error}") from None
        return _answer(201, {"code": code, "expires": _moment(until)})

    async def session(self, request: Request) -> Answer:
        """Open, renew or end a session."""
        sent = await _sent(request)
        _check_form(request, ("POST", "DELETE"))
        if request.method == "DELETE":
            return await self._end(request)
        code = _code(sent)
        if code:
            opened = await self._in_thread(self._sessions.open, code)
            if opened is None:
                raise self._failed(request, _BAD_CODE)
            request.note(_NOTE, opened.user.name)
            if opened.impersonation is not None:
                request.note(_NOTE_OF_IMPERSONATOR, opened.impersonation.impersonator.name)
            return _session_answer(201, opened)
        session = await self._session(request)
        renewed = None
        if session is not None:
            renewed = await self._in_thread(self._sessions.renew, session)
        if renewed is None:
            raise self._failed(request, _BAD_SESSION)
        return _session_answer(200, renewed)

    async def _end(self, request: Request) -> Answer:
        session = await self._session(request)
        if session is None:
            raise self._failed(request, _BAD_SESSION)
        await self._in_thread(self._sessions.end, session.token)
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return _answer(200, status)

    async def _session(self, request: Request) -> Session | None:
        token = _token(request)
        if not token.startswith(PREFIX):
            return None
        return await self._in_thread(self._sessions.find, token)

    def _failed(self, request: Request, why: str) -> StatusError:
        return self._failures.add(request.peer.address, why)

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run file access in a thread; raises StatusError."""
        if self._under_way >= _MAX_CONCURRENT:
            raise too_many_requests(_BUSY)
        self._under_way += 1
        try:
            return await asyncio.to_thread(work, *arguments)
        except TooManySecrets:
            raise too_many_requests(_BUSY) from None
        except OSError as error:
            logger.error("cannot store sessions of the console", err=error.strerror)
            raise internal("sessions of the console cannot be kept") from None
        finally:
            self._under_way -= 1


async def basis_of(authentication: Authentication, request: Request) -> SessionBasis:
    """Return what the request's credentials depend on: a session made from them must end when they
    become invalid. With impersonation it depends on both users."""
    until = _certificate_end(authentication, request)
    token = _token(request)
    basis = (
        await _token_basis(authentication.tokens, token, until) if token else SessionBasis(until)
    )
    impersonator = request.impersonator
    if impersonator is None:
        return basis
    impersonation = Impersonation(impersonator, impersonation_headers(request.raw_headers))
    return SessionBasis(basis.until, (*basis.anchors, *_account(request.user)), impersonation)


def _account(user: User) -> tuple[Anchor, ...]:
    account = split_account_name(user.name)
    return ((ACCOUNTS, "/".join(account)),) if account is not None else ()


async def _token_basis(tokens: BearerTokens, token: str, until: float) -> SessionBasis:
    try:
        grant = await tokens.check(token, tokens.audiences)
        read = unverified(token)
        expiry = seconds(read[1], "exp") if read is not None else None
    except (Rejected, BadToken):  # an invalid token beside other, valid credentials
        return SessionBasis(until)
    return SessionBasis(until if expiry is None else min(until, expiry), grant.anchors)


def _certificate_end(authentication: Authentication, request: Request) -> float:
    peer = request.peer
    if not peer.certificates or peer.problem:
        return float("inf")
    try:
        return authentication.client_authorities.subject(peer.certificates).end
    except Untrusted:
        return float("inf")


async def _sent(request: Request) -> bytes:
    """Return the body and remove it from the request, which keeps the code out of the audit log;
    raises StatusError."""
    sent = request.body
    request.forget_body()
    if len(sent) > MAX_BODY_BYTES:  # it arrived together with the header
        raise too_large(MAX_BODY_BYTES)
    return sent


def _check_form(request: Request, methods: tuple[str, ...]) -> None:
    """Raise StatusError for requests that neither our page nor our command line sends."""
    if request.method not in methods:
        raise method_not_allowed()
    refuse_foreign(request)
    media_type = request.header(b"content-type").partition(";")[0].strip().lower()
    if request.method == "POST" and media_type != _JSON:
        raise unsupported_media_type((_JSON,))


def _token(request: Request) -> str:
    return bearer_token(request.header(b"authorization"))[0]


def _code(sent: bytes) -> str:
    """Return the code in a body, or ""."""
    try:
        value = json.loads(sent) if sent.strip() else {}
    except (ValueError, RecursionError):
        raise bad_request("the body is not JSON") from None
    code = value.get("code", "") if isinstance(value, dict) else None
    if not isinstance(code, str):
        raise bad_request('the body is an object such as {"code": "..."}')
    return code


def _session_answer(status: int, session: Session) -> Answer:
    value = {
        "token": session.token,
        "expires": _moment(session.expires),
        "ends": _moment(session.ends),
        "user": operations_tokens.user_info(session.user),
    }
    if session.impersonation is not None:
        value["impersonator"] = session.impersonation.impersonator.name
    return _answer(status, value)


def _answer(status: int, value: dict[str, Any]) -> Answer:
    return SecuredAnswer(status, json.dumps(value).encode(), _JSON, (NO_STORE,))


def _moment(unix: float) -> str:
    return format_time(datetime.fromtimestamp(unix, UTC))


# Limits the rate of failed sign-ins.

_MAX_FAILURES, _SECONDS = 100, 60.0
_MAX_ADDRESS_LENGTH = 64
_TOO_MANY = "too many failed sign-ins, please try again later"


class Failures:
    """Counts failed sign-ins by address; beyond _MAX_FAILURES in _SECONDS they are answered 429.
    Valid credentials are always accepted: secrets are too long to be guessed, and many users may
    share an address."""

    def __init__(self) -> None:
        self._by_address: BoundedCache[str, list[float]] = BoundedCache(
            4096, longest=_MAX_ADDRESS_LENGTH, name="failed sign-ins"
        )

    def add(self, address: str, why: str) -> StatusError:
        """Count a failure and return the error to raise."""
        now = monotonic()
        failures = self._by_address.get(address)
        if failures is None or failures[1] + _SECONDS <= now:
            failures = [0, now]
            self._by_address.keep(address, failures, len(address))
        failures[0] += 1
        if failures[0] <= _MAX_FAILURES:
            return unauthorized(why)
        return too_many_requests(_TOO_MANY, int(failures[1] + _SECONDS - now) + 1)
