"""The authentication chain: the first method that knows the credential ends it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from fairlead.auth.authentication.impersonation import Impersonation
from fairlead.auth.authentication.user import ANONYMOUS, User, with_authenticated_group
from fairlead.base.errors import unauthorized
from fairlead.base.logs import Tally
from fairlead.wire.incoming.exchange import Peer

__all__ = ["Authenticator", "Credentials", "Method", "Rejected", "with_authenticated_group"]

logger = logging.getLogger("fairlead.auth.authentication")

_GENERIC = "Unauthorized"


class Credentials(Protocol):
    """What methods may look at of a request. Names in `raw_headers` are in lower case. They set
    `impersonation` where the credential was made through one."""

    raw_headers: list[tuple[bytes, bytes]]
    impersonation: Impersonation | None

    @property
    def peer(self) -> Peer: ...

    @property
    def facts(self) -> dict[Any, Any]:
        """What was found out from the headers; shared by all requests that have the same ones."""

    def header(self, name: bytes) -> str: ...

    def warn(self, text: str) -> None: ...

    def note(self, name: str, text: str) -> None:
        """Let an audit log tell something."""


class Rejected(Exception):
    """A credential that is meant for a method and is wrong.

    `reasons` are for reviews and never hold a credential; `kinds` are for the log and hold no
    text of the client at all: the reasons, unless they do; `message` is what the client is told.
    """

    def __init__(
        self, *reasons: str, message: str = _GENERIC, kinds: Iterable[str] | None = None
    ) -> None:
        super().__init__(", ".join(reasons))
        self.reasons = tuple(dict.fromkeys(reasons))
        self.kinds = tuple(dict.fromkeys(reasons if kinds is None else kinds))
        self.message = message


class Method(Protocol):
    """One way to authenticate: a user, or None when the request carries nothing for it.
    A credential that is meant for it and is wrong raises Rejected."""

    async def authenticate(self, request: Credentials) -> User | None: ...


class Authenticator:
    """All methods in their order, then anonymous. A method's rejection does not keep the next one
    from being asked, but it keeps the request from being anonymous."""

    def __init__(self, methods: Sequence[Method], *, anonymous: bool = False) -> None:
        self._methods = tuple(methods)
        self._anonymous = anonymous
        self._refused = Tally(logger, logging.INFO, "cannot authenticate a request")

    async def authenticate(self, request: Credentials) -> User:
        """The user of a request; raises a 401 StatusError."""
        rejections: list[Rejected] | None = None
        for method in self._methods:
            try:
                user = await method.authenticate(request)
            except Rejected as rejection:
                # Without its traceback, which holds this frame and so the list itself.
                rejections = [*(rejections or ()), rejection.with_traceback(None)]
                continue
            if user is not None:
                return user
        if rejections is None and self._anonymous:
            return ANONYMOUS
        raise self._refusal(rejections or ())

    def _refusal(self, rejections: Iterable[Rejected]) -> Exception:
        message = _GENERIC
        for rejection in rejections:
            self._refused.add(", ".join(rejection.kinds))
            if rejection.message != _GENERIC:
                message = rejection.message
        return unauthorized(message)
