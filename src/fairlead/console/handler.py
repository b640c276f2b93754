"""Routes everything below /console, and decides which paths need authentication."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable
from functools import cached_property
from math import isfinite
from time import monotonic
from typing import Any

from fairlead.api.answers import Answer
from fairlead.api.chain import Handler
from fairlead.api.methods import check_reading
from fairlead.api.metrics import Metrics
from fairlead.api.request import Request
from fairlead.auth.authentication.console_sessions import ConsoleSessions
from fairlead.auth.authentication.factory import Authentication
from fairlead.auth.authentication.user import ANONYMOUS, User
from fairlead.auth.authorization.attributes import Attributes
from fairlead.base.errors import bad_request
from fairlead.console import PATH, about, files, samples, sign_in

_LINK, _SESSION, _ABOUT = f"{PATH}/link", f"{PATH}/session", f"{PATH}/about"
_SERVER = f"{PATH}/server"
_METRICS = "/metrics"  # who may read it may see the samples, which are made of the same numbers
_PERIOD = 10.0  # seconds between two samples


class ConsoleHandler:
    """Routes the requests of the console. Only links and samples need an authenticated user: the
    page is loaded before the user signs in."""

    def __init__(
        self,
        authentication: Authentication,
        sessions: ConsoleSessions,
        facts: Callable[[], dict[str, Any]],
        sampling: Sampling,
    ) -> None:
        self._authentication = authentication
        self._sessions = sessions
        self._facts = facts
        self._sampling = sampling

    @cached_property
    def _signing_in(self) -> sign_in.SignInHandler:
        return sign_in.SignInHandler(self._authentication, self._sessions)

    @cached_property
    def _about(self) -> files.SecuredAnswer:
        encoded = json.dumps(self._facts()).encode()
        return files.SecuredAnswer(200, encoded, "application/json", (files.NO_STORE,))

    @cached_property
    def _files(self) -> files.StaticFiles:
        return files.StaticFiles()

    async def rule(self, request: Request) -> User | None:
        """Return the user of a request; None if the authentication chain must determine it."""
        request.exchange.body_limit = sign_in.MAX_BODY_BYTES
        if request.path in (_LINK, _SERVER):
            return None
        if request.path == _SESSION:
            return await self._signing_in.user_of(request)
        return ANONYMOUS

    async def answer(self, request: Request) -> Answer:
        path = request.path
        if path == _LINK:
            return await self._signing_in.link(request)
        if path == _SESSION:
            return await self._signing_in.session(request)
        check_reading(request)
        if path == PATH:
            return files.SecuredAnswer(
                308, b"", "text/plain", ((b"location", f"{PATH}/".encode()),)
            )
        if path == _ABOUT:
            return self._about
        if path == _SERVER:
            return await self._sampling.answer(request)
        return await self._files.answer(request, path.removeprefix(f"{PATH}/"))


class Sampling:
    """Samples the metrics of this process, number `process` of `processes`, from now on."""

    def __init__(self, handler: Handler, metrics: Metrics, process: int, processes: int) -> None:
        self._handler = handler
        self._metrics = metrics
        self._place = {"process": process, "processes": processes, "period": _PERIOD}
        self._began = monotonic()
        self._wait()

    @cached_property
    def _recorder(self) -> samples.Recorder:
        return samples.Recorder(self._metrics, self._handler.api.store, self._began)

    def _wait(self) -> None:
        asyncio.get_running_loop().call_later(_PERIOD, self._sample)

    def _sample(self) -> None:
        self._wait()
        self._recorder.sample()

    async def answer(self, request: Request) -> Answer:
        """The samples after the parameter `since`, in seconds; of all if the parameter `process`
        names another process. Raises StatusError."""
        attributes = Attributes(request.user, "get", path=_METRICS, is_resource=False)
        decision = await self._handler.api.authorizer.authorize(attributes)
        self._handler.decide(request, attributes, decision)
        since = _number(request, "since")
        if _number(request, "process") != self._place["process"]:
            since = 0.0
        document = self._recorder.document(since, **self._place)
        return files.SecuredAnswer(200, document, "application/json", (files.NO_STORE,))


def _number(request: Request, name: str) -> float:
    try:
        number = float(request.parameter(name) or 0)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise bad_request(f"{name} is not a number")
    return number


def add_console(
    handler: Handler,
    options: argparse.Namespace,
    metrics: Metrics,
    process: int = 0,
    processes: int = 1,
) -> None:
    """Serve the console at PATH, if the server supports sessions."""
    authentication = handler.api.authentication
    if authentication.sessions is None:
        return
    dialect = handler.api.dialect
    console = ConsoleHandler(
        authentication,
        authentication.sessions,
        lambda: about.facts(dialect, testing=options.testing, read_only=options.read_only),
        Sampling(handler, metrics, process, processes),
    )
    handler.prefixes[PATH] = console.answer
    handler.own_rules[PATH.strip("/")] = console.rule
