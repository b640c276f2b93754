"""Signing in: credentials give a code, a code gives a session."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from support.audited import Audited
from support.client import Client
from support.console import LINK, SESSION, ask_link, code_of, enter, is_known, renew, sign_in
from support.namespaces import Space
from support.process import ServerProcess


def test_a_code_makes_a_session_of_the_user_who_asked(any_server: ServerProcess) -> None:
    session = sign_in(any_server)
    assert session["user"] == {
        "username": "admin",
        "uid": "uid-admin",
        "groups": ["system:masters", "system:authenticated"],
    }
    assert is_known(any_server.client(session["token"]))


def test_a_client_certificate_is_good_for_a_code(any_server: ServerProcess) -> None:
    pki = any_server.data / "pki"
    code = code_of(any_server.client(None, (pki / "admin.crt", pki / "admin.key")))
    session = enter(any_server.client(None), code).body
    assert "system:masters" in session["user"]["groups"]
    assert is_known(any_server.client(session["token"]))


def test_the_session_of_one_who_is_impersonated_is_theirs(any_server: ServerProcess) -> None:
    headers = {
        "Impersonate-User": "bob",
        "Impersonate-Uid": "7",
        "Impersonate-Group": "builders",
        "Impersonate-Extra-Team": "blue",
    }
    session = sign_in(any_server, **headers)
    assert session["user"] == {
        "username": "bob",
        "uid": "7",
        "groups": ["builders", "system:authenticated"],
        "extra": {"team": ["blue"]},
    }
    assert any_server.client(session["token"]).get("/api/v1/namespaces").status == 403


def test_one_who_has_no_rights_at_all_can_sign_in(any_server: ServerProcess) -> None:
    code = code_of(any_server.client("alice-token"))
    session = enter(any_server.client(None), code).body
    assert session["user"]["username"] == "alice"
    refused = any_server.client(session["token"]).get("/api/v1/secrets")
    assert refused.status == 403
    assert '"alice"' in refused.message


def test_a_code_is_good_once(any_server: ServerProcess) -> None:
    code = code_of(any_server.client())
    stranger = any_server.client(None)
    assert enter(stranger, code).status == 201
    again = enter(stranger, code)
    assert (again.status, again.body["reason"]) == (401, "Unauthorized")


def test_of_many_who_have_the_same_code_one_gets_a_session(server: ServerProcess) -> None:
    code = code_of(server.client())
    strangers = [server.client(None) for _ in range(8)]
    for stranger in strangers:
        stranger.get("/console/about")
    with ThreadPoolExecutor(len(strangers)) as pool:
        answers = list(pool.map(lambda stranger: enter(stranger, code).status, strangers))
    assert sorted(answers)[:1] == [201]
    assert set(sorted(answers)[1:]) <= {401, 429}


def test_nobody_gets_a_code_without_credentials(any_server: ServerProcess) -> None:
    assert ask_link(any_server.client(None)).status == 401
    assert ask_link(any_server.client("wrong")).status == 401


def test_nobody_gets_a_code_as_an_anonymous_user(any_server: ServerProcess) -> None:
    answer = ask_link(any_server.client(), **{"Impersonate-User": "system:anonymous"})
    assert answer.status == 401


def test_nobody_gets_a_code_for_one_whom_they_may_not_impersonate(
    any_server: ServerProcess,
) -> None:
    answer = ask_link(any_server.client("alice-token"), **{"Impersonate-User": "admin"})
    assert answer.status == 403


def test_a_session_makes_no_codes(any_server: ServerProcess) -> None:
    answer = ask_link(any_server.client(sign_in(any_server)["token"]))
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")


@pytest.mark.parametrize(
    "code", ["", "x", "a" * 3000, "../../pki/ca.key", "\0", "0" * 16 + "." + "A" * 43]
)
def test_what_is_no_code_makes_no_session(server: ServerProcess, code: str) -> None:
    assert enter(server.client(None), code).status == 401


@pytest.mark.parametrize(
    "body", ["[]", "3", '{"code": 3}', '{"code": null}', "{", "[" * 3000, "\xff"]
)
def test_bodies_that_say_nothing_are_refused(server: ServerProcess, body: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = server.client(None).post(SESSION, body.encode("latin-1"), headers=headers)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


def test_long_bodies_are_refused(server: ServerProcess) -> None:
    for path in (SESSION, LINK):
        answer = server.client().post(path, {"code": "x" * 10_000})
        assert (answer.status, answer.body["reason"]) == (413, "RequestEntityTooLarge")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "x"])
def test_what_a_form_can_send_is_refused(any_server: ServerProcess, kind: str) -> None:
    code = code_of(any_server.client())
    for client, path in ((any_server.client(None), SESSION), (any_server.client(), LINK)):
        body = json.dumps({"code": code})
        assert client.post(path, body, headers={"Content-Type": kind}).status == 415
    assert enter(any_server.client(None), code).status == 201


def test_other_methods_are_not_known(server: ServerProcess) -> None:
    for method in ("GET", "HEAD", "PUT", "PATCH", "OPTIONS"):
        assert server.client().request(method, SESSION).status == 405
        assert server.client().request(method, LINK).status == 405
    assert server.client().delete(LINK).status == 405


def test_a_session_that_is_ended_is_not_good_any_more(any_server: ServerProcess) -> None:
    page = any_server.client(sign_in(any_server)["token"])
    other = any_server.client(sign_in(any_server)["token"])
    assert is_known(page)
    assert page.delete(SESSION).status == 200
    assert page.get("/api/v1/namespaces").status == 401
    assert renew(page).status == 401
    assert page.delete(SESSION).status == 401
    assert is_known(other)


def test_a_session_can_be_renewed(any_server: ServerProcess) -> None:
    session = sign_in(any_server)
    again = renew(any_server.client(session["token"]))
    assert again.status == 200
    assert again.body["token"] == session["token"]
    assert again.body["expires"] >= session["expires"]
    assert again.body["ends"] == session["ends"]


def test_only_sessions_can_be_renewed_and_ended(any_server: ServerProcess) -> None:
    for client in (any_server.client(), any_server.client(None), any_server.client("wrong")):
        assert renew(client).status == 401
        assert client.delete(SESSION).status == 401
    assert is_known(any_server.client())


def test_a_token_that_was_altered_is_not_good(server: ServerProcess) -> None:
    token = sign_in(server)["token"]
    for other in (
        token[:-1],
        f"{token}A",
        token.swapcase(),
        token.removeprefix("fairlead-console."),
    ):
        assert not is_known(server.client(other))
    assert is_known(server.client(token))


def test_no_answer_with_a_secret_is_kept_by_anybody(server: ServerProcess) -> None:
    link = ask_link(server.client())
    session = enter(server.client(None), link.body["code"])
    for answer in (link, session):
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Set-Cookie" not in answer.headers


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server to which nobody else signs in, and that logs what it does."""
    server = ServerProcess(tmp_path_factory.mktemp("own"), "kubernetes", ("-v",)).start()
    yield server
    server.stop()


def test_the_disk_knows_neither_codes_nor_tokens(own: ServerProcess) -> None:
    used, unused = sign_in(own), code_of(own.client())
    assert renew(own.client(used["token"])).status == 200
    secrets = [used["token"].rpartition(".")[2].encode(), unused.rpartition(".")[2].encode()]
    for path in own.directory.rglob("*"):
        assert not any(secret.decode() in path.name for secret in secrets)
        if path.is_file():
            assert not any(secret in path.read_bytes() for secret in secrets)
    kept = list((own.data / "console").rglob("*"))
    assert len(kept) >= 4
    for path in kept:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077


def test_the_audit_log_tells_who_signed_in_and_no_secret(audited: Audited) -> None:
    link = ask_link(audited.client)
    assert audited.last(link)["user"]["username"] == "admin"
    session = enter(audited.server.client(None), link.body["code"])
    event = audited.last(session)
    assert event["annotations"]["console.fairlead.dev/user"] == "admin"
    assert "requestObject" not in event
    page = audited.server.client(session.body["token"])
    assert audited.last(renew(page))["user"]["username"] == "admin"
    everything = audited.log.read_text()
    assert link.body["code"] not in everything
    assert session.body["token"] not in everything


def test_testing_powers_record_no_codes(testing_server: ServerProcess) -> None:
    code = code_of(testing_server.client())
    assert enter(testing_server.client(None), code).status == 201
    listed = testing_server.client().get("/apis/testing.fairlead.dev/v1/requests").text
    assert SESSION in listed
    assert code not in listed


def test_many_failures_are_told_to_come_back(own: ServerProcess) -> None:
    stranger = own.client(None)
    answers = [enter(stranger, "wrong") for _ in range(101)]
    assert answers[0].status == 401
    assert answers[-1].status == 429
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 61
    assert answers[-1].body["reason"] == "TooManyRequests"
    sign_in(own)  # what is right is let pass


def test_a_user_has_so_many_sessions_and_the_oldest_one_goes(own: ServerProcess) -> None:
    admin, stranger = own.client(), own.client(None)
    other = own.client(sign_in(own, **{"Impersonate-User": "bob"})["token"])
    pages = [own.client(enter(stranger, code_of(admin)).body["token"]) for _ in range(33)]
    assert not is_known(pages[0])
    assert all(map(is_known, pages[1:]))
    assert other.get("/api/v1/namespaces").status == 403


def account_client(space: Space, name: str) -> Client:
    accounts = space.collection("serviceaccounts")
    accounts.create(name)
    manifest = {"spec": {"expirationSeconds": 600}}
    answer = space.client.post(accounts.item(name, "token"), manifest)
    assert answer.status == 201, answer.text
    return space.server.client(answer.body["status"]["token"])


def test_a_session_of_a_service_account_ends_with_its_token(space: Space) -> None:
    link = code_of(account_client(space, "robot"))
    session = enter(space.server.client(None), link).body
    assert session["user"]["username"].endswith(":robot")
    in_time = datetime.now(UTC) + timedelta(minutes=10)
    assert datetime.fromisoformat(session["expires"]) <= in_time
    assert session["ends"] == session["expires"]


def test_a_session_of_a_service_account_ends_with_the_account(space: Space) -> None:
    link = code_of(account_client(space, "robot"))
    late = code_of(account_client(space, "other"))
    page = space.server.client(enter(space.server.client(None), link).body["token"])
    assert page.get("/api/v1/namespaces").status == 403
    for name in ("robot", "other"):
        space.collection("serviceaccounts").remove(name)
    assert page.get("/api/v1/namespaces").status == 401
    assert renew(page).status == 401
    assert enter(space.server.client(None), late).status == 401


@pytest.mark.both_dialects
def test_a_review_tells_whose_a_session_is(space: Space) -> None:
    group = space.server.dialect.group_name("authentication.@")
    token = sign_in(space.server)["token"]

    def reviewed(**spec: object) -> dict[str, object]:
        body = {"spec": {"token": token, **spec}}
        status: dict[str, object] = space.client.post(f"/apis/{group}/v1/tokenreviews", body).body[
            "status"
        ]
        return status

    assert reviewed()["authenticated"] is True
    assert "authenticated" not in reviewed(audiences=["elsewhere"])
