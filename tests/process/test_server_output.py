"""The output of `fairlead serve`, on a terminal and elsewhere."""

from __future__ import annotations

import json
import logging
import os
import pty
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
from support.fork_server import run_forked
from support.process import FreshServer, ServerProcess, failed_start, serve_command

from fairlead.base.logs import JsonLines

PATIENCE = 60.0
LONG = "--shutdown-grace=600s"  # which nobody waits for: the test would fail


class Terminal:
    """A server on a pseudo-terminal of the test."""

    def __init__(self, directory: Path, *flags: str, **environment: str) -> None:
        command = serve_command(directory, "kubernetes", flags)
        self.shown = ""
        self.pid, self._end = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm", **environment})
            os.execv(command[0], command)

    def until(self, text: str) -> str:
        """Return the output up to a text, or all of it if it ends before."""
        ends = monotonic() + PATIENCE
        while text not in self.shown and monotonic() < ends:
            if select.select([self._end], [], [], 1.0)[0]:
                try:
                    self.shown += os.read(self._end, 65536).decode().replace("\r\n", "\n")
                except OSError:  # the other side has closed it
                    break
        before, result, self.shown = self.shown.partition(text)
        return before + result

    def press_control_c(self) -> None:
        os.write(self._end, b"\x03")

    def code(self) -> int:
        """Its exit code."""
        self.until("never shown")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def hang_up(self) -> None:
        """Close the window."""
        os.close(self._end)
        self._end = -1

    def close(self) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        if self._end >= 0:
            os.close(self._end)


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[list[Terminal]]:
    terminals: list[Terminal] = []
    yield terminals
    for item in terminals:
        item.close()


def unfinished_request(banner: str) -> ssl.SSLSocket:
    """A request whose body is never sent."""
    match = re.search(r"https://127\.0\.0\.1:(\d+)", banner)
    assert match is not None
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    plain = socket.create_connection(("127.0.0.1", int(match[1])))
    secure = context.wrap_socket(plain)
    secure.sendall(
        b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\n"
        b"Authorization: Bearer admin-token\r\nExpect: 100-continue\r\n"
        b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    )
    assert secure.recv(100).startswith(b"HTTP/1.1 100")  # it waits for the body
    return secure


def test_ctrl_c_once_drains_and_twice_stops_at_once(
    terminals: list[Terminal], tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path, LONG)
    terminals.append(terminal)
    text = terminal.until("a second one at once")
    first = r"\x1b\[1mFairlead serves on https://\S+ \(dialect kubernetes, release 1\.25\)\x1b\[0m"
    assert re.fullmatch(first, text.splitlines()[0])
    assert f"data          {tmp_path}/data (new)\n" in text
    assert f"export KUBECONFIG={tmp_path}/data/admin.kubeconfig\n" in text
    assert " get namespaces\n" in text
    stop_twice(terminal, text)

    # Workers do so too; this time there is something in the directory.
    workers = Terminal(tmp_path, LONG, "--workers=2", NO_COLOR="1")
    terminals.append(workers)
    text = workers.until("a second one at once")
    assert "\x1b" not in text
    assert re.search(r"/data \(\d+ objects at revision \d+, [\d.]+ KiB\)\n", text)
    stop_twice(workers, text)


def stop_twice(terminal: Terminal, text: str) -> None:
    with unfinished_request(text):
        terminal.press_control_c()
        assert "finishing running requests" in terminal.until("Ctrl-C again stops at once")
        terminal.press_control_c()
        assert "stopping at once" in terminal.until("stopping at once")
        assert terminal.code() == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_terminal_that_closes_leaves_it_running(
    terminals: list[Terminal], tmp_path: Path, workers: int
) -> None:
    """Closing it sends SIGHUP to the whole process group, and writing to it fails."""
    terminal = Terminal(tmp_path, LONG, "-v", f"--workers={workers}")
    terminals.append(terminal)
    with unfinished_request(terminal.until("a second one at once")) as request:
        terminal.hang_up()
        request.sendall(b'{"metadata": {"name": "finished"}}'.ljust(100))
        assert b"\r\n\r\n" in (received := request.recv(100_000))
        assert received.startswith(b"HTTP/1.1 201")
    os.kill(terminal.pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == 0


def test_nohup_keeps_it_running(tmp_path: Path) -> None:
    command = ["nohup", *serve_command(tmp_path, "kubernetes", ())]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert "serves on" in process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def served(directory: Path, *flags: str) -> tuple[list[str], list[str]]:
    """Return the output and the log of a server that gets a request and is stopped."""
    command = serve_command(directory, "kubernetes", flags)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        server = ServerProcess(directory)
        match = re.search(r"https://\S+", first)
        assert match is not None
        server.address = match[0]
        client = server.client()
        client.get("/version")
        client.close()
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    return [first, *out.splitlines()], errors.splitlines()


def test_elsewhere_the_first_line_is_for_programs(tmp_path: Path) -> None:
    out, errors = served(tmp_path)
    assert re.fullmatch(
        r"Fairlead serves on https://\S+ \(dialect kubernetes, release 1\.25\)\n", out[0]
    )
    assert not any("Ctrl-C" in line or "\x1b" in line for line in (*out, *errors))
    assert [line.split(maxsplit=2)[2] for line in errors] == ["INFO shutting down"]


@pytest.mark.parametrize(
    ("flags", "levels"),
    [(("-v=2",), {"debug", "info"}), (("-v", "--workers=2"), {"info"})],
    ids=["debugging", "workers"],
)
def test_a_log_for_programs_is_one_object_a_line(
    tmp_path: Path, flags: tuple[str, ...], levels: set[str]
) -> None:
    _, errors = served(tmp_path, "--log-format=json", *flags)
    lines = [json.loads(line) for line in errors]
    assert {tuple(line)[:5] for line in lines} == {("ts", "level", "logger", "msg", "v")}
    assert {line["level"] for line in lines} == levels
    (request,) = [line for line in lines if line.get("path") == "/version"]
    assert (request["level"], request["logger"]) == ("info", "fairlead.requests")
    assert (request["verb"], request["code"], request["address"]) == ("GET", 200, "127.0.0.1")
    assert 0 < request["seconds"] < 60
    assert abs(request["ts"] - time.time()) < 600


def test_a_request_is_logged_with_its_facts(fresh_server: FreshServer, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    audit = ("--audit-policy-file", str(policy), "--audit-log-path", str(tmp_path / "audit"))
    server = fresh_server("--log-format=json", "-v", *audit)
    path = "/api/v1/namespaces/default/configmaps"
    answer = server.client().post(path, {"metadata": {"name": "a"}})
    assert answer.status == 201
    server.stop()
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    (request,) = [line for line in lines if line.get("path") == path]
    about = {"resource": "core/v1/configmaps", "namespace": "default"}
    facts = {**about, "verb": "create", "code": 201}
    assert facts.items() <= request.items()
    assert request["user"] == "admin"
    assert request["audit_id"] == answer.headers["Audit-Id"]
    own = [line for line in lines if line.get("user", "").startswith("system:") and "verb" in line]
    assert own  # what controllers do
    assert all("path" not in line for line in own)


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_request_log_has_no_secrets_and_no_forged_lines(
    fresh_server: FreshServer, log_format: str
) -> None:
    server = fresh_server(f"--log-format={log_format}", "-v")
    client = server.client()
    secret = {"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}}
    assert client.post("/api/v1/namespaces/default/secrets", secret).status == 201
    headers = {"User-Agent": "agent\x9b31m", "Authorization": "Bearer wrong-hunter2"}
    assert server.client(None).get("/x%0A2026%20INFO%20forged%1b[31m?token=hunter2").status == 403
    assert server.client(None).get("/api", headers=headers).status == 401
    server.stop()
    written = server.log.read_bytes().decode("ascii" if log_format == "text" else "utf-8")
    assert "hunter2" not in written
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", written)
    assert not any(line.startswith("2026 INFO forged") for line in written.splitlines())
    assert "forged" in written


def test_why_it_cannot_start_is_in_the_log_for_programs(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        flags = ("--data-dir", str(tmp_path / "d"), "--secure-port", port, "--log-format=json")
        done = run_forked("serve", *flags)
    numbers = json.loads(done.stderr)
    assert (done.returncode, numbers["level"]) == (1, "critical")
    assert numbers["err"] == f"cannot listen on 127.0.0.1:{port}: Address already in use"


def test_a_directory_in_use_is_told_in_one_line(server: ServerProcess) -> None:
    done = failed_start(server.directory)
    assert (done.returncode, done.stdout) == (1, "")
    where = server.data
    assert done.stderr == f"fairlead: {where} is in use by another server (it holds {where}/lock)\n"


def test_a_serving_certificate_that_is_none_is_told_as_such(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("nothing")
    flags = ("--tls-cert-file", str(file), "--tls-private-key-file", str(file))
    done = failed_start(tmp_path, *flags)
    assert (done.returncode, done.stderr) == (1, f"fairlead: {file} or {file} is malformed\n")


def test_tracebacks_and_odd_text_stay_within_their_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "a\n%s", ("\ud800",), sys.exc_info())
    line = JsonLines().format(record)
    assert "\n" not in line
    numbers = json.loads(line)
    assert "ValueError: two" in numbers["traceback"]
    assert (numbers["level"], numbers["msg"]) == ("error", "a\n\\ud800")
