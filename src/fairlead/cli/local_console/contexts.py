"""The contexts of a client configuration, each with its server and the credentials for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from fairlead.api.relay.headers import INERT, NOT_RETURNED
from fairlead.base.dialect import KUBERNETES
from fairlead.base.terminal import printable
from fairlead.cli.arguments import Options
from fairlead.cli.connection_flags import access_of
from fairlead.cli.error_messages import error_text
from fairlead.cli.errors import UsageError
from fairlead.cli.proxy.messages import Head, answer
from fairlead.cli.proxy.relay import Places, Relay, send_answer, server_path
from fairlead.client import AccessError, ApiError, Unreachable
from fairlead.client.access.files import read_configuration, sources_of
from fairlead.client.session import Request, Session
from fairlead.console import PATH, about
from fairlead.wire.byte_streams import ByteStream
from fairlead.wire.outgoing.connection import Connection

_SECONDS = 5.0  # to learn about a server before it is shown
_CORS = "access-control-"
_LEFT_OUT = {name.decode() for name in NOT_RETURNED} - {"content-length", "date"}
_INERT = tuple(f"{name.decode()}: {value.decode()}" for name, value in INERT)
_FAILURES = (ApiError, Unreachable, AccessError)


class ContextRelay(Relay):
    """Passes requests of the page on. What comes back is inert in a browser, as it is when the
    server serves the console; a refusal of the credentials is not one of the page's token."""

    async def hand_back(
        self, stream: ByteStream, head: Head, connection: Connection, *, may_stay: bool
    ) -> bool:
        if connection.status == 401:
            text = b"the server does not accept the credentials of this context\n"
            await answer(stream, head, 403, text, *_INERT)
            return False
        names = {name.decode("latin-1") for name, _ in connection.headers}
        foreign = {name for name in names if name.startswith(_CORS)}
        return await send_answer(
            stream,
            head,
            connection,
            may_stay=may_stay,
            left_out=_LEFT_OUT | foreign,
            added=_INERT,
        )


class Context:
    """A server as a user reaches it. `facts` are what the page needs to know about the server;
    `is_foreign` says that it is no Fairlead server. Both are guesses until `look` has reached
    it."""

    def __init__(self, name: str, user: str, session: Session) -> None:
        self.name = name
        self.session = session
        self.server = session.access.place.server
        self.user = user  # as the configuration calls it, unless the server tells its name
        self.is_foreign = True
        self.facts: dict[str, Any] = about.facts(KUBERNETES, testing=False, read_only=False)
        self._is_known = False
        self.relay = ContextRelay(session, Places(server_path=server_path(self.server)), None)

    async def look(self) -> None:
        """Learn about the server and the user, once it can be reached."""
        if self._is_known:
            return
        try:
            await self._learn()
            self._is_known = True
        except (Unreachable, AccessError):
            return
        self.user = await self._user_name() or self.user

    async def _learn(self) -> None:
        try:
            told = await self._get(f"{PATH}/about")
        except ApiError:
            told = {}
        known = {
            name: told[name]
            for name, value in self.facts.items()
            if type(told.get(name)) is type(value)
        }
        if {"dialect", "groupDomain", "groups"} <= known.keys():
            self.facts |= known
            self.is_foreign = False
            return
        try:
            version = (await self._get("/version")).get("gitVersion")
        except ApiError:
            version = None
        self.facts["version"] = version if isinstance(version, str) else ""

    async def _get(self, path: str) -> dict[str, Any]:
        value = await self.session.json(Request("GET", path, timeout=_SECONDS))
        return value if isinstance(value, dict) else {}

    async def _user_name(self) -> str:
        group = f"authentication.{self.facts['groupDomain']}"
        review = {"apiVersion": f"{group}/v1", "kind": "SelfSubjectReview"}
        path = f"/apis/{group}/v1/selfsubjectreviews"
        request = Request("POST", path, body=orjson.dumps(review), timeout=_SECONDS)
        try:
            name = (await self.session.json(request))["status"]["userInfo"]["username"]
        except (*_FAILURES, TypeError, KeyError):
            return ""
        return name if isinstance(name, str) else ""


class Contexts:
    """All contexts of the configuration that the flags name, opened when they are first shown."""

    def __init__(self, options: Options) -> None:
        """Raises AccessError and UsageError."""
        for name in ("server", "cluster", "user"):
            if getattr(options, name):
                raise UsageError(f"--all-contexts takes each context as it is: leave out --{name}")
        files = read_configuration(sources_of(options.kubeconfig))
        self._entries = files.entries["contexts"]
        self._options = options
        self._opened: dict[str, Context] = {}
        self.names = sorted(self._entries)
        if not self.names:
            raise AccessError("the client configuration has no contexts")
        self.first = options.context or files.current_context or self.names[0]
        if self.first not in self.names:
            raise AccessError(f'there is no context "{printable(self.first)}"')
        self.open(self.first)

    def open(self, name: str) -> Context:
        """Raises AccessError if the configuration of the context is of no use."""
        context = self._opened.get(name)
        if context is None:
            chosen = Options(**{**vars(self._options), "context": name})
            session = Session(access_of(chosen))
            user = self._entries[name].value.get("user") or ""
            context = self._opened[name] = Context(name, user, session)
        return context

    def problem(self, name: str) -> str:
        """Why a context is of no use, "" if it can be tried."""
        try:
            self.open(name)
        except AccessError as error:
            return error_text(error)
        return ""

    async def close(self) -> None:
        for session in _sessions(self._opened.values()):
            await session.close()


def _sessions(contexts: Iterable[Context]) -> list[Session]:
    return [context.session for context in contexts]
