"""Requests that a browser sends for pages of other sites."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from support.client import Client
from support.console import LINK, SESSION, code_of, enter, sign_in
from support.process import ServerProcess

FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://{host}"},
    {"Origin": "https://{host}.evil.example"},
    {"Origin": "https://{host}", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "anything"},
]
OWN = [
    {"Origin": "https://{host}"},
    {"Origin": "https://{host}", "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
]


def headers(server: ServerProcess, given: dict[str, str]) -> dict[str, str]:
    host = urlsplit(server.address).netloc
    return {name: value.format(host=host) for name, value in given.items()}


@pytest.fixture
def page(any_server: ServerProcess) -> Client:
    return any_server.client(sign_in(any_server)["token"])


@pytest.mark.parametrize("given", FOREIGN)
def test_other_sites_cannot_use_a_session(
    any_server: ServerProcess, page: Client, given: dict[str, str]
) -> None:
    sent = headers(any_server, given)
    for _ in range(2):  # the second time the token is known
        refused = page.get("/api/v1/namespaces", headers=sent)
        assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
    assert page.get("/api/v1/namespaces").status == 200
    assert page.get("/api/v1/namespaces", headers=sent).status == 403


@pytest.mark.parametrize("given", FOREIGN)
def test_other_sites_can_neither_sign_in_nor_out(
    server: ServerProcess, given: dict[str, str]
) -> None:
    sent = headers(server, given)
    stranger, page = server.client(None), server.client(sign_in(server)["token"])
    code = code_of(server.client())
    assert stranger.post(SESSION, {"code": code}, headers=sent).status == 403
    assert enter(stranger, code).status == 201
    assert page.post(SESSION, {}, headers=sent).status == 403
    assert page.delete(SESSION, headers=sent).status == 403
    assert server.client().post(LINK, {}, headers=sent).status == 403


@pytest.mark.parametrize("given", OWN)
def test_the_page_itself_can(any_server: ServerProcess, given: dict[str, str]) -> None:
    sent = headers(any_server, given)
    code = code_of(any_server.client())
    session = any_server.client(None).post(SESSION, {"code": code}, headers=sent)
    assert session.status == 201
    page = any_server.client(session.body["token"])
    assert page.get("/api/v1/namespaces", headers=sent).status == 200
    assert page.delete(SESSION, headers=sent).status == 200


def test_the_usual_port_need_not_be_named(server: ServerProcess, page: Client) -> None:
    sent = {"Host": "Fairlead.example:443", "Origin": "https://fairlead.example"}
    assert page.get("/api/v1/namespaces", headers=sent).status == 200


def test_other_tokens_do_not_mind(server: ServerProcess) -> None:
    sent = {"Origin": "https://elsewhere.example"}
    assert server.client().get("/api/v1/namespaces", headers=sent).status == 200
