"""Servers without anonymous access, or without a console."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.commands import run_words
from support.console import LINK, SESSION, ask_link, is_known, sign_in
from support.process import ServerProcess


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server without a console."""
    directory = tmp_path_factory.mktemp("without")
    server = ServerProcess(directory, "kubernetes", ("--console=false",)).start()
    yield server
    server.stop()


@pytest.mark.parametrize("path", ["/console", "/console/", "/console/about", "/console/app.js"])
def test_without_a_console_there_is_nothing(without: ServerProcess, path: str) -> None:
    assert without.client().get(path).status == 404
    assert without.client(None).get(path).status == 403


def test_without_a_console_nobody_signs_in(without: ServerProcess) -> None:
    assert without.client().post(LINK, {}).status == 404
    assert not is_known(without.client(f"fairlead-console.{'0' * 16}.{'A' * 43}"))
    assert not (without.data / "console").exists()


def test_without_a_console_the_command_says_so(without: ServerProcess) -> None:
    config = without.data / "admin.kubeconfig"
    ran = run_words("console", "--print", "--kubeconfig", str(config))
    assert ran.code == 1
    assert ran.errors == (
        "error: the server has no console; it may have been started with --console=false."
        " With --all-contexts, the console is served from here\n"
    )


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server without anonymous users."""
    directory = tmp_path_factory.mktemp("strict")
    server = ServerProcess(directory, "kubernetes", ("--anonymous-auth=false",)).start()
    yield server
    server.stop()


def test_the_page_comes_where_there_are_no_anonymous_users(strict: ServerProcess) -> None:
    stranger = strict.client(None)
    assert stranger.get("/version").status == 401
    assert stranger.get("/console/").status == 200
    assert ask_link(stranger).status == 401


def test_where_nothing_can_be_written_everything_else_goes_on(strict: ServerProcess) -> None:
    page = strict.client(sign_in(strict)["token"])
    assert is_known(page)
    sessions = strict.data / "console"
    sessions.rename(strict.data / "moved")
    sessions.write_bytes(b"")
    answer = ask_link(strict.client())
    assert (answer.status, answer.body["reason"]) == (500, "InternalError")
    assert page.get("/api/v1/namespaces").status == 401
    assert page.delete(SESSION).status == 401
    assert is_known(strict.client())
    assert "Traceback" not in strict.log.read_text()
