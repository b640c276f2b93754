"""Routes everything below /console, and decides which paths need authentication."""

from __future__ import annotations

import argparse
import json
from functools import cached_property
from typing import Any

from fairlead import __version__
from fairlead.api.answers import Answer
from fairlead.api.chain import Handler
from fairlead.api.methods import check_reading
from fairlead.api.request import Request
from fairlead.auth.authentication.user import ANONYMOUS, User
from fairlead.base.dialect import Dialect
from fairlead.console import PATH
from fairlead.console.files import NO_STORE, SecuredAnswer, StaticFiles
from fairlead.console.sign_in import MAX_BODY_BYTES, SignInHandler

_LINK, _SESSION, _ABOUT = f"{PATH}/link", f"{PATH}/session", f"{PATH}/about"


class ConsoleHandler:
    """Routes the requests of the console. Only links need an authenticated user: the page is loaded
    before the user signs in."""

    def __init__(self, signing_in: SignInHandler, facts: dict[str, object]) -> None:
        self._signing_in = signing_in
        self._about = SecuredAnswer(
            200, json.dumps(facts).encode(), "application/json", (NO_STORE,)
        )

    @cached_property
    def _files(self) -> StaticFiles:
        return StaticFiles()

    async def rule(self, request: Request) -> User | None:
        """Return the user of a request; None if the authentication chain must determine it."""
        request.exchange.body_limit = MAX_BODY_BYTES
        if request.path == _LINK:
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
            return SecuredAnswer(308, b"", "text/plain", ((b"location", f"{PATH}/".encode()),))
        if path == _ABOUT:
            return self._about
        return await self._files.answer(request, path.removeprefix(f"{PATH}/"))


def add_console(handler: Handler, options: argparse.Namespace) -> None:
    """Serve the console at PATH, if the server supports sessions."""
    authentication = handler.api.authentication
    if authentication.sessions is None:
        return
    facts = about(handler.api.dialect, testing=options.testing, read_only=options.read_only)
    console = ConsoleHandler(SignInHandler(authentication, authentication.sessions), facts)
    handler.prefixes[PATH] = console.answer
    handler.own_rules[PATH.strip("/")] = console.rule


# Facts about the server that the page needs before a user has signed in.

_GROUPS = (
    "admissionregistration",
    "apiextensions",
    "apiregistration",
    "authentication",
    "authorization",
    "certificates",
    "coordination",
    "discovery",
    "events",
    "flowcontrol.apiserver",
    "metrics",
    "networking",
    "node",
    "rbac.authorization",
    "scheduling",
    "storage",
)


def about(dialect: Dialect, *, testing: bool, read_only: bool) -> dict[str, Any]:
    """Return the facts. `groups` maps the dialect-independent part of the names of API groups to
    the full names."""
    return {
        "dialect": dialect.name,
        "version": __version__,
        "testing": testing,
        "readOnly": read_only,
        "groupDomain": dialect.group_domain,
        "labelDomain": dialect.label_domain,
        "systemNamespaces": list(dialect.system_namespaces),
        "groups": {name: dialect.group_name(f"{name}.@") for name in _GROUPS},
    }
