"""Lifetimes of codes and sessions, in all processes and over restarts."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.client import Client
from support.console import SESSION, code_of, enter, is_known, renew, sign_in
from support.namespaces import random_word
from support.process import MOVABLE_CLOCK, FreshServer, ServerProcess
from support.waiting import eventually
from support.workers import Workers

HOUR = 3600.0


def advance(server: ServerProcess, seconds: float) -> None:
    """Move the clock, and wait until that is so."""
    watched = server.client(sign_in(server)["token"])
    before = _expiry(renew(watched).body["expires"])

    def has_moved() -> bool:
        answer = renew(watched)
        return answer.status == 401 or _expiry(answer.body["expires"]) >= before + seconds

    server.advance(seconds)
    eventually(has_moved, "the clock has moved")


def _expiry(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("moving")
    server = ServerProcess(directory, "cluster", prelude=MOVABLE_CLOCK).start()
    yield server
    server.stop()


def test_a_code_is_good_for_a_minute(moving: ServerProcess) -> None:
    early, late = code_of(moving.client()), code_of(moving.client())
    advance(moving, 40)
    assert enter(moving.client(None), early).status == 201
    advance(moving, 25)
    assert enter(moving.client(None), late).status == 401


def test_a_session_is_good_for_an_hour_unless_it_is_renewed(moving: ServerProcess) -> None:
    left = moving.client(sign_in(moving)["token"])
    renewed = moving.client(sign_in(moving)["token"])
    advance(moving, 0.7 * HOUR)
    assert is_known(left)
    assert renew(renewed).status == 200
    advance(moving, 0.5 * HOUR)
    assert not is_known(left)
    assert renew(left).status == 401
    assert is_known(renewed)


def test_no_session_is_renewed_for_more_than_half_a_day(moving: ServerProcess) -> None:
    session = sign_in(moving)
    page = moving.client(session["token"])
    assert _expiry(session["ends"]) - _expiry(session["expires"]) == pytest.approx(11 * HOUR, abs=2)
    for _ in range(13):
        advance(moving, 0.9 * HOUR)
        assert renew(page).status == 200
    assert renew(page).body["expires"] == session["ends"]
    advance(moving, 0.4 * HOUR)
    assert not is_known(page)
    assert renew(page).status == 401


def test_what_has_ended_is_swept_away(moving: ServerProcess) -> None:
    kept = moving.data / "console"
    for _ in range(3):
        sign_in(moving)
        code_of(moving.client())
    advance(moving, 2 * HOUR)
    sign_in(moving)
    assert len(os.listdir(kept / "sessions")) == 1
    assert len(os.listdir(kept / "codes")) == 0


def test_sessions_outlive_a_restart_and_so_does_their_end(fresh_server: FreshServer) -> None:
    server = fresh_server()
    lasting, ended = sign_in(server)["token"], sign_in(server)["token"]
    code = code_of(server.client())
    assert server.client(ended).delete(SESSION).status == 200
    server.kill()
    server.start()
    assert is_known(server.client(lasting))
    assert not is_known(server.client(ended))
    assert enter(server.client(None), code).status == 201


def test_a_session_ends_with_the_line_of_the_token_file_it_was_made_with(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    tokens = tmp_path / "lines.csv"
    tokens.write_text("a,anna,1,system:masters\nb,bert,2,system:masters\nc,carl,3,system:masters\n")
    server = fresh_server("--token-auth-file", str(tokens))
    pages = [
        enter(server.client(None), code_of(server.client(token))).body["token"] for token in "abc"
    ]
    server.kill()
    tokens.write_text("a,anna,1,system:masters\nb,bert,2,staff\n")
    server.start()
    assert [server.client(page).get("/api").status for page in pages] == [200, 401, 401]


def test_a_session_ends_when_the_token_in_a_secret_is_changed(server: ServerProcess) -> None:
    admin, path, name = server.client(), "/api/v1/namespaces/default", random_word()
    admin.post(f"{path}/serviceaccounts", {"metadata": {"name": name}})
    annotations = {server.dialect.label("@/service-account.name"): name}
    secret: dict[str, Any] = {"metadata": {"name": name, "annotations": annotations}}
    secret["type"] = server.dialect.label("@/service-account-token")
    admin.post(f"{path}/secrets", secret)

    def data() -> dict[str, str]:
        return admin.get(f"{path}/secrets/{name}").body.get("data") or {}

    eventually(lambda: "token" in data(), "the Secret has a token")
    robot = server.client(b64decode(data()["token"]).decode())
    page = server.client(enter(server.client(None), code_of(robot)).body["token"])
    assert page.get("/api").status == 200
    admin.patch(f"{path}/secrets/{name}", {"stringData": {"token": "another"}})
    assert robot.get("/api").status == 401
    assert page.get("/api").status == 401


def test_a_server_of_another_data_directory_knows_no_session_of_this_one(
    server: ServerProcess, cluster_server: ServerProcess
) -> None:
    token = sign_in(server)["token"]
    assert cluster_server.client(token).get("/api/v1/namespaces").status == 401


def test_workers_know_the_same_codes_and_sessions(fresh_server: FreshServer) -> None:
    server = fresh_server("--workers", "2")
    workers = Workers(server)
    here, there = workers.owner(), workers.followers()[0]
    code = code_of(workers.client(here))
    opened = workers.client(there).post(SESSION, {"code": code})
    assert opened.status == 201
    assert workers.client(here).post(SESSION, {"code": code}).status == 401
    token = opened.body["token"]
    pages = [workers.client(pid, token) for pid in (here, there)]
    assert all(map(is_known, pages))
    assert renew(pages[0]).status == 200
    assert pages[0].delete(SESSION).status == 200
    assert not any(map(is_known, pages))


def session_of(server: ServerProcess, name: str) -> tuple[Client, Path]:
    """A session of a user who has no other, and its file."""
    before = set((server.data / "console" / "sessions").iterdir())
    token = sign_in(server, **{"Impersonate-User": name})["token"]
    (path,) = set((server.data / "console" / "sessions").iterdir()) - before
    return server.client(token), path


def test_a_session_whose_file_is_gone_or_spoilt_is_not_good(moving: ServerProcess) -> None:
    sign_in(moving)
    gone, file = session_of(moving, "gone")
    assert gone.get("/api/v1/namespaces").status == 403
    file.unlink()
    assert gone.get("/api/v1/namespaces").status == 401
    spoilt, file = session_of(moving, "spoilt")
    end = file.stat().st_mtime
    file.write_bytes(b"")
    os.utime(file, (end, end))
    assert spoilt.get("/api/v1/namespaces").status == 401
