"""The authentication chain: the first method that recognizes the credential ends it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from fairlead.auth.authentication.impersonation import Impersonation
from fairlead.auth.authentication.user import ANONYMOUS, User, with_authenticated_group
from fairlead.base.errors import unauthorized
from fairlead.base.logs import Logger, Tally
from fairlead.wire.incoming.exchange import Peer

__all__ = ["Authenticator", "Credentials", "Method", "Rejected", "with_authenticated_group"]

logger = Logger("fairlead.auth.authentication")

_GENERIC = "Unauthorized"


class Credentials(Protocol):
    """The parts of a request that methods may read. Names in `raw_headers` are in lower case.
    Methods set `impersonation` if the credential was created by impersonation."""

    path: str
    raw_headers: list[tuple[bytes, bytes]]
    impersonation: Impersonation | None

    @property
    def peer(self) -> Peer: ...

    @property
    def facts(self) -> dict[Any, Any]:
        """Values derived from the headers; shared by all requests with identical headers."""

    def header(self, name: bytes) -> str: ...

    def warn(self, text: str) -> None: ...

    def note(self, name: str, text: str) -> None:
        """Add an audit annotation."""


class Rejected(Exception):
    """A credential that is meant for a method and is invalid.

    `reasons` are for reviews and never contain a credential. `kinds` are for the log and contain no
    text from the client; they default to the reasons. `message` is for the client, `annotations`
    are for the audit event.
    """

    def __init__(
        self,
        *reasons: str,
        message: str = _GENERIC,
        kinds: Iterable[str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(", ".join(reasons))
        self.reasons = tuple(dict.fromkeys(reasons))
        self.kinds = tuple(dict.fromkeys(reasons if kinds is None else kinds))
        self.message = message
        self.annotations = annotations or {}


class Method(Protocol):
    """One authentication method. Returns a user, None if the request has no credential for it, or
    an awaitable if it has to wait for either. Raises Rejected for an invalid credential."""

    def authenticate(self, request: Credentials) -> User | Awaitable[User | None] | None: ...


class Authenticator:
    """All methods in order, then anonymous. After a rejection the next methods are still tried, but
    the request cannot become anonymous."""

    def __init__(
        self,
        methods: Sequence[Method],
        *,
        anonymous: bool = False,
        anonymous_paths: frozenset[str] = frozenset(),
    ) -> None:
        """Only requests to `anonymous_paths` may be anonymous, unless there are none."""
        self._methods = tuple(methods)
        self._anonymous = anonymous
        self._anonymous_paths = anonymous_paths
        self._refused = Tally(logger, logging.INFO, "cannot authenticate a request")

    def authenticate(self, request: Credentials) -> User | Awaitable[User]:
        """The user of a request, or an awaitable if a method has to wait; raises a 401
        StatusError."""
        methods = iter(self._methods)
        for method in methods:
            try:
                user = method.authenticate(request)
            except Rejected as rejection:
                return self._try_rest(request, methods, None, [rejection.with_traceback(None)])
            if isinstance(user, User):
                return user
            if user is not None:
                return self._try_rest(request, methods, user, [])
        return self._end(request, [])

    async def _try_rest(
        self,
        request: Credentials,
        methods: Iterator[Method],
        outcome: User | Awaitable[User | None] | None,
        rejections: list[Rejected],
    ) -> User:
        """Go on with the outcome of a method, then with those after it. The rejections have no
        tracebacks: these would reference this frame and thus the list itself."""
        while True:
            try:
                if outcome is not None and not isinstance(outcome, User):
                    outcome = await outcome
                if outcome is not None:
                    return outcome
                method = next(methods, None)
                if method is None:
                    return self._end(request, rejections)
                outcome = method.authenticate(request)
            except Rejected as rejection:
                rejections.append(rejection.with_traceback(None))
                outcome = None

    def _end(self, request: Credentials, rejections: list[Rejected]) -> User:
        """No method has recognized the credential."""
        if not rejections and self._anonymous:
            paths = self._anonymous_paths
            if not paths or request.path in paths:
                return ANONYMOUS
        raise self._refusal(rejections)

    def _refusal(self, rejections: Iterable[Rejected]) -> Exception:
        message = _GENERIC
        for rejection in rejections:
            self._refused.add(", ".join(rejection.kinds))
            if rejection.message != _GENERIC:
                message = rejection.message
        return unauthorized(message)
