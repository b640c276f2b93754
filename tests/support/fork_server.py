"""Commands of fairlead, mostly servers, as forks of a process that has already imported it: the
start of a server takes 0.15 seconds of CPU, that of a new interpreter 0.5.

Each test process has one fork server. For each command it forks a keeper, which forks the command,
sends its pid, waits for its end and sends the exit code. Only Linux has the sockets for this.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

_TIMEOUT = 60.0
_MAX_REQUEST = 1 << 20  # bytes
_FDS = 3  # stdout, stderr and the keeper's pipe
# Prefixes of the lazy modules that no server uses.
_OTHER_PROGRAMS = ("fairlead.cli", "fairlead.client", "fairlead.testing")


def run_forked(*words: str, directory: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command of fairlead to its end, in a directory if one is given."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = ForkedProcess(words, errors, stdout=out, directory=directory)
        process.stdout.close()
        try:
            code = process.wait(_TIMEOUT)
        finally:
            process.kill()
        out.seek(0)
        errors.seek(0)
        written = out.read().decode(), errors.read().decode()
    return subprocess.CompletedProcess(words, code, *written)


class ForkedProcess:
    """A command of fairlead in a fork. Its methods are those of Popen; `stdout` is a pipe if no
    file is given."""

    def __init__(
        self,
        words: Sequence[str],
        stderr: IO[bytes],
        *,
        stdout: IO[bytes] | None = None,
        prelude: str = "",
        environment: Mapping[str, str] = os.environ,
        directory: Path | None = None,
    ) -> None:
        request = {
            **{"words": words, "prelude": prelude, "environment": dict(environment)},
            **{"directory": str(directory or Path.cwd()), "umask": _umask()},
        }
        output, pipe = os.pipe()
        status, write_status = os.pipe()
        fds = [pipe if stdout is None else stdout.fileno(), stderr.fileno(), write_status]
        socket.send_fds(_fork_server(), [json.dumps(request).encode()], fds)
        os.close(pipe)
        os.close(write_status)
        self.stdout = os.fdopen(output, "rb")
        self._status = os.fdopen(status, "rb")
        self.pid = int(self._status.readline())
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._status, selectors.EVENT_READ)
                if not selector.select(timeout):
                    raise subprocess.TimeoutExpired("fairlead", timeout or 0.0)
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended; the keeper has yet to report it
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _umask() -> int:
    """Return the umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@cache
def _fork_server() -> socket.socket:
    """Start the fork server of this process; it ends when the socket is closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-P", __file__, str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    process.returncode = 0  # it is never waited for; Popen would warn
    return ours


def _await_request(requests: socket.socket) -> dict[str, Any]:
    """Fork for each request; return it in the process that becomes the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests, which end servers
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # reaps keepers
    while True:
        message, fds, *_ = socket.recv_fds(requests, _MAX_REQUEST, _FDS)
        if not message:
            _end()
        if os.fork() == 0:
            requests.close()
            _keep(*fds)
            request: dict[str, Any] = json.loads(message)
            return request
        for fd in fds:
            os.close(fd)


def _keep(stdout: int, stderr: int, status: int) -> None:
    """Fork again. Returns in the child, with its streams in place; the keeper ends here."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        for fd in (stdout, stderr, status):
            os.close(fd)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return
    os.close(stdout)
    os.close(stderr)
    os.write(status, f"{pid}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(status, f"{code}\n".encode())
    _end()


def _end() -> NoReturn:
    """End without a file for `coverage`, which may already be combining them: each server writes
    the same lines."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit


def _become(request: dict[str, Any]) -> int:
    """Run the program of a request; return its exit code."""
    os.chdir(request["directory"])
    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["fairlead", *request["words"]]
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False, buffering=1)
    exec(request["prelude"], {})
    code: int = import_module("fairlead.cli").main()
    return code


def _import_server() -> None:
    import_module("fairlead.cli.serve")
    for name in sorted(import_module("fairlead.base.lazy").MODULES):
        if not name.startswith(_OTHER_PROGRAMS):
            assert import_module(name).__doc__  # the first attribute runs the module's body
    gc.collect()
    gc.freeze()  # the collector would write to all pages of every fork


if __name__ == "__main__":
    _import_server()
    sys.exit(_become(_await_request(socket.socket(fileno=int(sys.argv[1])))))
