"""`fairlead console --all-contexts`: one console for the servers of all contexts."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from support.client import ADMIN_TOKEN
from support.client_configs import Fields
from support.commands import run_words
from support.http_server import Handler, HttpServer
from support.local_console import LocalConsole, contexts_file, local_console, place_of
from support.process import ServerProcess

NAMESPACES = "/api/v1/namespaces"


class _Foreign(Handler):
    """A server of the API that is no Fairlead server. Its answers would like to be a page."""

    protocol_version = "HTTP/1.1"
    seen: dict[str, dict[str, str]]  # headers by path

    def do_GET(self) -> None:
        self.seen[self.path] = {name.lower(): value for name, value in self.headers.items()}
        if self.path == "/version":
            self.reply(200, b'{"gitVersion": "v1.30.0"}')
        elif self.path == "/refused":
            self.reply(401, b"{}", ("WWW-Authenticate", "Basic"))
        elif self.path.startswith("/page"):
            hostile = {
                "Set-Cookie": "a=b",
                "Service-Worker-Allowed": "/",
                "Clear-Site-Data": '"*"',
                "Access-Control-Allow-Origin": "*",
                "Strict-Transport-Security": "max-age=9999",
            }
            self.reply(200, b"<script>alert(1)</script>", *hostile.items())
        else:
            self.reply(404, b"{}")

    def do_POST(self) -> None:
        self.read_body()
        self.reply(404, b"{}")


@pytest.fixture(scope="module")
def foreign() -> Iterator[tuple[str, dict[str, dict[str, str]]]]:
    """The address of a foreign server, and the headers that it got by path."""
    seen: dict[str, dict[str, str]] = {}
    running = HttpServer(type("Foreign", (_Foreign,), {"seen": seen}))
    yield f"http://127.0.0.1:{running.server_address[1]}", seen
    running.stop()


@pytest.fixture(scope="module")
def console(
    tmp_path_factory: pytest.TempPathFactory,
    server: ServerProcess,
    cluster_server: ServerProcess,
    foreign: tuple[str, dict[str, dict[str, str]]],
) -> Iterator[LocalConsole]:
    config = contexts_file(
        tmp_path_factory.mktemp("contexts") / "config",
        "here",
        here=place_of(server, ADMIN_TOKEN),
        alice=place_of(server, "alice-token"),
        there=place_of(cluster_server, ADMIN_TOKEN),
        elsewhere=({"server": foreign[0]}, {"token": "of-elsewhere"}),
        broken=({"server": "https://a b"}, {}),
    )
    with local_console(config) as running:
        yield running


@pytest.fixture(scope="module")
def token(console: LocalConsole) -> str:
    return console.sign_in()


def test_the_link_opens_the_current_context(console: LocalConsole, token: str) -> None:
    about = console("/console/about", token=token).body
    assert (about["context"], about["dialect"], about["foreign"]) == ("here", "kubernetes", False)
    assert about["contexts"] == ["alice", "broken", "elsewhere", "here", "there"]
    assert console(NAMESPACES, token=token).status == 200
    assert console("/console/").text.startswith("<!doctype html>")


def test_each_context_has_its_own_server_and_user(console: LocalConsole, token: str) -> None:
    there = console.token_for("there", token)
    assert console("/console/about", token=there).body["dialect"] == "cluster"
    assert console(NAMESPACES, token=there).status == 200
    alice = console("/console/context", "POST", token, {"name": "alice"}).body
    assert alice["user"] == {"username": "alice"}
    assert console(NAMESPACES, token=alice["token"]).status == 403
    assert console(NAMESPACES, token=token).status == 200


def test_what_fairlead_servers_tell_the_console_passes(console: LocalConsole, token: str) -> None:
    assert console("/console/server", token=token).body["period"] == 10
    assert console("/history", token=token).body["items"]


def test_servers_of_others_have_no_history(
    console: LocalConsole, token: str, foreign: tuple[str, dict[str, dict[str, str]]]
) -> None:
    elsewhere = console.token_for("elsewhere", token)
    about = console("/console/about", token=elsewhere).body
    assert (about["foreign"], about["version"]) == (True, "v1.30.0")
    for path in ("/history", "/history/denied", "/console/server"):
        assert console(path, token=elsewhere).status == 404
        assert path not in foreign[1]


def test_credentials_and_the_pages_own_headers_stay_apart(
    console: LocalConsole, token: str, foreign: tuple[str, dict[str, dict[str, str]]]
) -> None:
    elsewhere = console.token_for("elsewhere", token)
    own = {"Origin": console.origin, "Referer": console.origin, "Sec_Fetch_Site": "same-origin"}
    console("/api/asked?x=y", token=elsewhere, Cookie="a=b", **own)
    got = foreign[1]["/api/asked?x=y"]
    assert got["authorization"] == "Bearer of-elsewhere"
    assert not {"cookie", "origin", "referer", "sec-fetch-site"} & got.keys()
    assert elsewhere not in str(foreign[1])


def test_what_servers_answer_is_inert(console: LocalConsole, token: str) -> None:
    answer = console("/page", token=console.token_for("elsewhere", token))
    assert answer.text == "<script>alert(1)</script>"
    assert answer.headers["content-security-policy"] == "sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"
    left_out = {"set-cookie", "service-worker-allowed", "clear-site-data"}
    left_out |= {"access-control-allow-origin", "strict-transport-security"}
    assert not left_out & answer.headers.keys()


def test_refused_credentials_do_not_sign_the_page_out(console: LocalConsole, token: str) -> None:
    answer = console("/refused", token=console.token_for("elsewhere", token))
    assert answer.status == 403
    assert "credentials of this context" in answer.text
    assert "www-authenticate" not in answer.headers


def test_a_context_without_use_is_explained(console: LocalConsole, token: str) -> None:
    answer = console("/console/context", "POST", token, {"name": "broken"})
    assert answer.status == 422
    assert "neither a URL nor HOST:PORT" in answer.body["message"]
    assert console("/console/context", "POST", token, {"name": "nowhere"}).status == 404


@pytest.mark.parametrize("path", [NAMESPACES, "/console/about", "/console/server", "/version"])
def test_without_a_token_there_are_only_files(console: LocalConsole, path: str) -> None:
    assert console(path).status == 401
    assert console(path, token="A" * 43).status == 401
    assert console(path, token=ADMIN_TOKEN).status == 401
    assert console("/console/app.js").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "localhost"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:8001"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Service_Worker": "script"},
        {"Connection": "upgrade", "Upgrade": "websocket"},
    ],
)
def test_pages_of_others_are_not_served(
    console: LocalConsole, token: str, headers: dict[str, str]
) -> None:
    refused = console(NAMESPACES, token=token, **headers)
    assert refused.status in (403, 421)
    assert "access-control-allow-origin" not in refused.headers
    if "Upgrade" not in headers:
        code = {"code": console.code}
        assert console("/console/session", "POST", body=code, **headers).status in (403, 421)
    if "Host" in headers:
        assert console("/console/", **headers).status == 421


@pytest.mark.parametrize(
    "path", ["/console/link", "/console//about", "//console/link", "/x/../console/link"]
)
def test_sessions_of_servers_are_out_of_reach(console: LocalConsole, token: str, path: str) -> None:
    assert console(path, "POST", token, {}).status in (403, 404)


def test_a_link_works_once(console: LocalConsole) -> None:
    code = console.code
    used = console.sign_in()
    assert console("/console/session", "POST", body={"code": code}).status == 401
    assert console("/console/session", "POST", body={"code": console.code[:-1]}).status == 401
    assert console("/console/session", "POST", used, {}).body["token"] == used
    assert console("/console/session", "DELETE", used).status == 200
    assert console(NAMESPACES, token=used).status == 401


@pytest.mark.parametrize(
    ("content", "status"), [("[]", 400), ("{", 400), ("[" * 3000, 400), (" " * 5000, 413)]
)
def test_bodies_that_are_none(console: LocalConsole, content: str, status: int) -> None:
    connection = HTTPConnection(console.host, timeout=30)
    connection.request("POST", "/console/session", content, {"Content-Type": "application/json"})
    assert connection.getresponse().status == status
    connection.close()


def test_bodies_in_other_types_are_refused(console: LocalConsole) -> None:
    sent = {"Content_Type": "text/plain"}
    assert console("/console/session", "POST", body={"code": console.code}, **sent).status == 415


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--context", "nowhere"), 'there is no context "nowhere"'),
        (("--context", "broken"), "neither a URL nor HOST:PORT"),
        (("--server", "https://x"), "leave out --server"),
        (("--port", "99999"), "127.0.0.1:99999"),
    ],
)
def test_what_cannot_be_served_is_said_at_once(
    tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    urls = {"a": "https://x", "broken": "h:://"}
    places: dict[str, tuple[Fields, Fields]] = {
        name: ({"server": url}, {}) for name, url in urls.items()
    }
    config = contexts_file(tmp_path / "config", "a", **places)
    ran = run_words("console", "--all-contexts", *words, "--kubeconfig", str(config))
    assert ran.code != 0
    assert why in ran.errors


def test_a_port_is_for_a_console_of_ones_own(tmp_path: Path) -> None:
    ran = run_words("console", "--port", "8001")
    assert ran.code != 0
    assert "--all-contexts" in ran.errors
