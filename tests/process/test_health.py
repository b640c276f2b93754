"""/healthz, /livez and /readyz: status codes and texts."""

from __future__ import annotations

import pytest
from support.client import Client
from support.process import ServerProcess

ENDPOINTS = ["healthz", "livez", "readyz"]


@pytest.mark.parametrize("name", ENDPOINTS)
def test_a_healthy_server_says_ok(client: Client, name: str) -> None:
    answer = client.get(f"/{name}")
    assert (answer.status, answer.text) == (200, "ok")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("name", ENDPOINTS)
def test_a_slash_behind_it_is_another_path(client: Client, name: str) -> None:
    assert client.get(f"/{name}/").status == 404
    assert client.get(f"/{name}/ping/").status == 404


@pytest.mark.parametrize("name", ENDPOINTS)
def test_verbose_prints_each_check(client: Client, name: str) -> None:
    *checks, last = client.get(f"/{name}", verbose=None).text.splitlines()
    assert len(checks) >= 3
    assert all(line.startswith("[+]") and line.endswith(" ok") for line in checks)
    assert last.endswith("check passed")
    assert "[+]ping ok" in checks


@pytest.mark.parametrize("name", ENDPOINTS)
def test_verbose_ends_in_the_word_of_the_dialect(
    server: ServerProcess, cluster_server: ServerProcess, name: str
) -> None:
    kubernetes, cluster = (
        running.client().get(f"/{name}?verbose").text.splitlines()[-1]
        for running in (server, cluster_server)
    )
    assert kubernetes == f"{name} check passed"
    assert cluster == "healthz check passed"


@pytest.mark.parametrize("name", ENDPOINTS)
def test_every_check_that_is_printed_can_be_asked_for_alone(client: Client, name: str) -> None:
    for line in client.get(f"/{name}?verbose").text.splitlines()[:-1]:
        check = line.removeprefix("[+]").removesuffix(" ok")
        answer = client.get(f"/{name}/{check}")
        assert (answer.status, answer.text) == (200, "ok"), check


def test_readiness_has_the_check_of_shutting_down(client: Client) -> None:
    assert "[+]shutdown ok" in client.get("/readyz?verbose").text
    assert "shutdown" not in client.get("/livez?verbose").text


def test_an_unknown_check_is_not_found(client: Client) -> None:
    assert client.get("/livez/nothing").status == 404


@pytest.mark.parametrize("name", ENDPOINTS)
def test_checks_can_be_excluded(client: Client, name: str) -> None:
    text = client.get(f"/{name}", verbose=None, exclude=["ping", "etcd"]).text
    assert "[+]ping excluded: ok\n" in text
    assert "[+]etcd excluded: ok\n" in text
    assert client.get(f"/{name}?exclude=ping").text == "ok"


def test_excluding_what_does_not_exist_is_said_to_those_who_look(client: Client) -> None:
    assert client.get("/livez?exclude=nothing").text == "ok"
    lines = client.get("/livez?verbose&exclude=nothing").text.splitlines()
    assert lines[-2] == 'warn: some health checks cannot be excluded: no matches for "nothing"'


def test_health_can_be_asked_for_by_head(client: Client) -> None:
    assert client.request("HEAD", "/readyz").status == 200


def test_a_single_check_has_no_verbose_form(client: Client) -> None:
    assert client.get("/livez/ping?verbose").text == "ok"
