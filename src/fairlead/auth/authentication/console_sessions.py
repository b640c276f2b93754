"""Sessions of the web console: a user authenticated by other credentials gets a code, exchanges it
once for a token, and the token authenticates that user for some hours at most.

A session stores its dependencies. A session created with a token ends when the token would become
invalid: with its service account, the content of a Secret, or a line of the token file. A session
created by impersonation ends when the impersonator loses that permission, and with the impersonated
service account.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from math import inf
from typing import Any, NamedTuple

from fairlead.auth.authentication import token_file as token_files
from fairlead.auth.authentication.bearer import Anchor, Audiences, Grant, known_audiences
from fairlead.auth.authentication.chain import Credentials, Rejected
from fairlead.auth.authentication.expiring_secrets import IssuedSecret, Secrets
from fairlead.auth.authentication.impersonation import Impersonation
from fairlead.auth.authentication.service_accounts import SECRETS, Lookup
from fairlead.auth.authentication.user import User
from fairlead.auth.authentication.websocket_tokens import refuse_foreign
from fairlead.base.clock import time

PREFIX = "fairlead-console."
CODE_SECONDS, SESSION_SECONDS, MAX_SESSION_SECONDS = 60.0, 3600.0, 12 * 3600.0
KnownAnchors = tuple[tuple[Anchor, str], ...]  # each with its state

_ENDED = "a session of the console has ended"
_ABSENT = "what the session would rest on is not there"


class SessionBasis(NamedTuple):
    """The dependencies of a session: the unix time when the credentials expire, the objects behind
    them, and the impersonation, if the user is impersonated."""

    until: float = inf
    anchors: tuple[Anchor, ...] = ()
    impersonation: Impersonation | None = None


class Session(NamedTuple):
    """A token that is valid until `expires` and can be renewed until `ends`."""

    token: str
    user: User
    expires: float
    ends: float
    anchors: KnownAnchors
    impersonation: Impersonation | None = None


class ConsoleSessions:
    """Codes and sessions, and the token method for sessions. Methods raise OSError if the storage
    fails."""

    def __init__(
        self,
        codes: Secrets,
        sessions: Secrets,
        audiences: Audiences,
        lookup: Lookup,
        token_file: token_files.StaticTokens | None = None,
    ) -> None:
        self._codes = codes
        self._sessions = sessions
        self._audiences = audiences
        self._lookup = lookup
        self._token_file = token_file

    def link(self, user: User, basis: SessionBasis) -> tuple[str, float]:
        """Issue a code for a user; returns it with its expiry. Raises TooManySecrets, and Rejected
        if a dependency of the session is missing."""
        now = time()
        until = min(now + CODE_SECONDS, basis.until)
        anchors = [(*anchor, self._state(anchor)) for anchor in basis.anchors]
        if not all(state for *_, state in anchors):
            raise Rejected(_ABSENT)
        ends = min(now + MAX_SESSION_SECONDS, basis.until)
        content: dict[str, Any] = {"user": _user_fields(user), "ends": ends, "anchors": anchors}
        if basis.impersonation is not None:
            content |= _impersonation_fields(basis.impersonation)
        return self._codes.issue(user.name, json.dumps(content).encode(), until), until

    def open(self, code: str) -> Session | None:
        """Exchange an unused, valid code for a session. Raises TooManySecrets."""
        taken = self._codes.take(code)
        session = self._decode_valid("", taken) if taken is not None else None
        if taken is None or session is None:
            return None
        expires = min(time() + SESSION_SECONDS, session.ends)
        secret = self._sessions.issue(session.user.name, taken.content, expires)
        return session._replace(token=f"{PREFIX}{secret}", expires=expires)

    def find(self, token: str) -> Session | None:
        """The session of a valid token, else None."""
        if not token.startswith(PREFIX):
            return None
        secret = self._sessions.find(_secret(token))
        return self._decode_valid(token, secret) if secret is not None else None

    def _decode_valid(self, token: str, secret: IssuedSecret) -> Session | None:
        """Decode a stored session; None if a dependency changed."""
        try:
            session = _read(token, secret)
        except ValueError:  # the machine stopped before the file was flushed
            return None
        is_valid = all(state and self._state(anchor) == state for anchor, state in session.anchors)
        return session if is_valid else None

    def renew(self, session: Session) -> Session | None:
        """Extend a session; None if it was ended meanwhile."""
        expires = min(time() + SESSION_SECONDS, session.ends)
        if not self._sessions.extend(_secret(session.token), expires):
            return None
        return session._replace(expires=expires)

    def end(self, token: str) -> None:
        self._sessions.end(_secret(token))

    async def check(self, token: str, wanted_audiences: Audiences) -> Grant | None:
        """Implements TokenMethod."""
        if not token.startswith(PREFIX):
            return None
        session, shared = self.find(token), known_audiences(wanted_audiences, self._audiences)
        if session is None:  # perhaps another server has just opened it
            await self._sessions.catch_up()
            session = self.find(token)
        if session is None or not shared:
            raise Rejected(_ENDED)
        anchors = tuple(anchor for anchor, _ in session.anchors)
        use = _Use(self._sessions.expiry_reader(_secret(token)))
        impersonation = session.impersonation
        return Grant(session.user, shared, session.expires, anchors, use, impersonation)

    def _state(self, anchor: Anchor) -> str:
        """The state of an anchor that must stay the same for tokens to remain valid; empty if it is
        missing or in deletion. Changing a Secret's data revokes the token in it."""
        resource, key = anchor
        if resource == token_files.TOKEN_FILE:
            return self._token_file.line(key) if self._token_file is not None else ""
        namespace, _, name = key.rpartition("/")
        value = self._lookup(resource, namespace, name) or {}
        metadata = value.get("metadata", {})
        uid: str = "" if metadata.get("deletionTimestamp") else metadata.get("uid", "")
        if not uid or resource != SECRETS:
            return uid
        data = json.dumps(value.get("data"), sort_keys=True)
        return f"{uid} {sha256(data.encode()).hexdigest()}"


class _Use:
    """Checks on each use whether another process has ended a cached session."""

    __slots__ = ("_ends_at",)

    def __init__(self, ends_at: Callable[[], float]) -> None:
        self._ends_at = ends_at

    def used(self, request: Credentials) -> None:
        refuse_foreign(request)
        if time() >= self._ends_at():
            raise Rejected(_ENDED)


def _secret(token: str) -> str:
    return token[len(PREFIX) :]


def _user_fields(user: User) -> dict[str, Any]:
    return {"name": user.name, "uid": user.uid, "groups": user.groups, "extra": dict(user.extra)}


def _impersonation_fields(impersonation: Impersonation) -> dict[str, Any]:
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in impersonation.headers
    ]
    return {"impersonator": _user_fields(impersonation.impersonator), "headers": headers}


def _read(token: str, secret: IssuedSecret) -> Session:
    value = json.loads(secret.content)
    anchors = tuple(((resource, key), state) for resource, key, state in value["anchors"])
    impersonation = _read_impersonation(value) if "impersonator" in value else None
    user = _user(value["user"])
    return Session(token, user, secret.until, value["ends"], anchors, impersonation)


def _read_impersonation(value: dict[str, Any]) -> Impersonation:
    headers = value["headers"]
    pairs = ((name.encode("latin-1"), text.encode("latin-1")) for name, text in headers)
    return Impersonation(_user(value["impersonator"]), tuple(pairs))


def _user(written: dict[str, Any]) -> User:
    extra = {name: tuple(values) for name, values in written["extra"].items()}
    return User(written["name"], written["uid"], tuple(written["groups"]), extra)
