"""Signing in to the console, as its page and the command line do."""

from __future__ import annotations

from typing import Any

from support.client import Answer, Client
from support.process import ServerProcess

LINK, SESSION = "/console/link", "/console/session"
WHO = "/api/v1/namespaces"


def ask_link(client: Client, **headers: str) -> Answer:
    return client.post(LINK, {}, headers=headers)


def code_of(client: Client, **headers: str) -> str:
    """Return a new code for the user of a client."""
    answer = ask_link(client, **headers)
    assert answer.status == 201, answer.text
    code: str = answer.body["code"]
    return code


def enter(client: Client, code: str) -> Answer:
    """Exchange a code for a session; the client has no credentials."""
    return client.post(SESSION, {"code": code})


def sign_in(server: ServerProcess, **headers: str) -> dict[str, Any]:
    """Open a session of the admin, or of the user that the headers impersonate."""
    answer = enter(server.client(None), code_of(server.client(), **headers))
    assert answer.status == 201, answer.text
    session: dict[str, Any] = answer.body
    return session


def renew(client: Client) -> Answer:
    return client.post(SESSION, {})


def is_known(client: Client) -> bool:
    return client.get(WHO).status == 200
