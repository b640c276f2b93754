"""`fairlead proxy`: the API on a local port."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest
from support.commands import Commands, run_words
from support.following import Following
from support.simulation import Pods
from support.web_sockets import BINARY, HELLO, KEY


@pytest.fixture
def commands(pods: Pods) -> Commands:
    return Commands(pods.space)


class _Client:
    """A client of the proxy, over one connection."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connection = HTTPConnection("127.0.0.1", port, timeout=30)

    def __call__(self, path: str, method: str = "GET", **parts: Any) -> tuple[int, str]:
        answer = self.open(path, method, **parts)
        return answer.status, answer.read().decode()

    def open(self, path: str, method: str = "GET", **parts: Any) -> HTTPResponse:
        self.connection.request(method, path, **parts)
        return self.connection.getresponse()

    def raw(self, request: str, end: bytes = b"") -> bytes:
        """Send bytes on a connection of their own, and return what comes until it ends, or until
        an end that has to come."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as client:
            client.sendall(request.encode("latin-1"))
            received = b""
            while not (end and end in received) and (data := client.recv(65536)):
                received += data
            assert end in received
            return received


@contextmanager
def _proxy(commands: Commands, *words: str) -> Iterator[_Client]:
    with Following(commands, "proxy", "--port=0", *words) as following:
        line = following.line()
        assert line.startswith("Starting to serve on 127.0.0.1:")
        client = _Client(int(line.rpartition(":")[2]))
        yield client
        client.connection.close()
        assert following.interrupt() == 130


def test_requests_have_the_rights_of_the_user(commands: Commands) -> None:
    path = f"/api/v1/namespaces/{commands.space.name}/configmaps"
    body, fields = json.dumps({"metadata": {"name": "a"}}), {"Content-Type": "application/json"}
    with _proxy(commands) as client:
        assert client(path, "POST", body=body, headers=fields)[0] == 201
        pieces = iter([b'{"metadata":', b'{"name":"b"}}'])
        status, text = client(path, "POST", body=pieces, headers=fields, encode_chunked=True)
        assert (status, json.loads(text)["metadata"]["name"]) == (201, "b")
        status, text = client(f"{path}?limit=1")
        assert (status, len(json.loads(text)["items"])) == (200, 1)
        assert client(f"{path}/none")[0] == 404
        assert client("/version", "HEAD")[1] == ""
        assert client(f"{path}/a", "DELETE")[0] == 200
    with _proxy(commands, "--as=eve") as client:
        assert client(path)[0] == 403


def test_watches_pass_through(commands: Commands) -> None:
    path = f"/api/v1/namespaces/{commands.space.name}/configmaps?watch=1"
    with _proxy(commands) as client:
        answer = client.open(path)
        commands("create", "configmap", "seen")
        while (event := json.loads(answer.readline()))["object"]["metadata"]["name"] != "seen":
            pass
        assert event["type"] == "ADDED"


def test_web_sockets_pass_through(commands: Commands, pods: Pods) -> None:
    pods.create("p")
    pods.await_ready("p")
    path = f"/api/v1/namespaces/{commands.space.name}/pods/p/exec?command=echo&command=x&stdout=1"
    lines = (*HELLO, KEY, "Sec-WebSocket-Protocol: v5.channel.k8s.io", "Host: localhost")
    request = f"GET {path} HTTP/1.1\r\n" + "\r\n".join((*lines, "", ""))
    with _proxy(commands) as client:
        assert client(path)[0] == 403
    with _proxy(commands, "--reject-paths=") as client:
        echoed = bytes((0x80 | BINARY, 3, 1)) + b"x\n"
        assert client.raw(request, echoed).startswith(b"HTTP/1.1 101 ")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/a/pods/b/exec",
        "/api/v1/namespaces/a/pods/b/attach?x=y",
        "/api//v1/namespaces/a/pods/b/%65xec",
        "//api/v1/namespaces/a/pods/b/exec",
        "/x/../api/v1/namespaces/a/pods/b/exec",
    ],
)
def test_rejected_paths_have_no_other_spelling(path: str, commands: Commands) -> None:
    with _proxy(commands) as client:
        status, text = client(path)
        assert (status, text.startswith("Forbidden: the path /")) == (403, True)


def test_filters(commands: Commands) -> None:
    flags = ("--accept-paths=^/version$", "--reject-methods=POST,PUT", "--accept-hosts=^a.example$")
    fields = {"Host": "a.example:80"}
    with _proxy(commands, *flags) as client:
        assert client("/version", headers=fields)[0] == 200
        refused = {
            client("/api", headers=fields): "the path /api is rejected",
            client("/version", "POST", headers=fields): "the method POST is rejected",
            client("/version"): "the host 127.0.0.1 is not accepted",
        }
        for (status, text), why in refused.items():
            assert (status, text) == (403, f"Forbidden: {why}\n")
    with _proxy(commands, "--disable-filter") as client:
        assert client("/version", headers={"Host": "anything"})[0] == 200


def test_a_foreign_page_that_calls_us_by_its_own_name_is_refused(commands: Commands) -> None:
    with _proxy(commands) as client:
        assert client("/version", headers={"Host": "evil.example"})[0] == 403
        assert client("/version", headers={"Host": "localhost:1"})[0] == 200


def test_files_beside_the_api(commands: Commands, tmp_path: Path) -> None:
    www = tmp_path / "www"
    www.mkdir()
    (www / "index.html").write_text("<p>index")
    (www / "a.txt").write_text("text")
    (tmp_path / "secret").write_text("secret")
    (www / "link").symlink_to(tmp_path / "secret")
    flags = (f"--www={www}", "--www-prefix=/files", "--api-prefix=/k")
    with _proxy(commands, *flags) as client:
        assert client("/files/") == (200, "<p>index")
        assert client.open("/files/a.txt").headers["Content-Type"] == "text/plain"
        client.connection.close()
        assert client("/files")[0] == 301
        for path in ("link", "../secret", "%2e%2e/secret", "none", "a%00"):
            assert client(f"/files/{path}")[0] == 404
        assert client("/files/a.txt", "POST")[0] == 405
        assert client("/k/version")[0] == 200
        assert client("/version") == (404, "the API is below /k/\n")


@pytest.mark.parametrize(
    "request_text",
    [
        "GARBAGE\r\n\r\n",
        "GET /version HTTP/2.0\r\n\r\n",
        "GET version HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nbad name: x\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused(request_text: str, commands: Commands) -> None:
    with _proxy(commands) as client:
        assert client.raw(request_text).startswith(b"HTTP/1.1 400 ")


def test_a_server_that_is_gone(tmp_path: Path, commands: Commands) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with _proxy(commands, "--server", url) as client:
        status, text = client("/version")
        assert (status, text.startswith("error: nothing listens on")) == (502, True)


def test_a_unix_socket_of_the_user(commands: Commands, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with Following(commands, "proxy", "-u", str(path)) as following:
        assert following.line() == f"Starting to serve on {path}"
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"GET /version HTTP/1.0\r\nHost: localhost\r\n\r\n")
            assert client.recv(15) == b"HTTP/1.1 200 OK"


def test_ports_and_flags_that_cannot_be_used(commands: Commands) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = commands.run("proxy", f"--port={port}")
    assert ran == (1, "", f"error: 127.0.0.1:{port}: Address already in use\n")
    for flag, why in (
        ("--port=70000", "--port takes a number up to 65535"),
        ("--www=/no/such", "--www: /no/such is not a directory"),
        ("--reject-paths=(", "--reject-paths: missing ), unterminated subpattern at position 0"),
    ):
        assert commands.run("proxy", flag) == (1, "", f"error: {why}\n")
    assert run_words("proxy", "--port=x").code == 1
