"""A terminal that runs the examples of the documentation exactly as printed."""

from __future__ import annotations

import os
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

from support.pages import ROOT, missing_line, steps

PATIENCE = 300.0  # seconds for a command: under coverage, on a busy machine, some take a minute

# Ports in the pages; each terminal replaces them by free ones.
_PORTS = ("6443", "6444", "6445", "2379", "2380", "8443")
_PORT = re.compile(rf"\b(?:{'|'.join(_PORTS)})\b")
# A busy machine holds every server up at times, and then `fairlead check` rightly warns of it.
_PATIENT_SERVER = (
    "import sys; from fairlead.api import stalls; stalls.LONGEST = 5.0;"
    " from fairlead.cli import main; sys.exit(main())"
)
# The programs beside these tests take precedence over installed ones.
_PRELUDE = f"""
set -o pipefail
fairlead() {{ "{sys.executable}" -m fairlead "$@"; }}
serve() {{ "{sys.executable}" -c '{_PATIENT_SERVER}' serve "$@"; }}
python() {{ "{sys.executable}" "$@"; }}
pytest() {{ "{sys.executable}" -m pytest "$@"; }}
"""
_LAUNCH = """
import ast, asyncio, inspect
text = open(".block.py").read()
code = compile(text, "the block", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
found = eval(code, {"__name__": "__main__"})
asyncio.run(found) if inspect.iscoroutine(found) else None
"""
_SERVE = re.compile(r"make serve(?: ARGS='(.*)')?|fairlead serve ?(.*)", re.DOTALL)


def _hold_port() -> socket.socket:
    """Bind a free port without listening: nobody is given it by chance, and the servers of a page,
    which set SO_REUSEADDR like this, may listen on it."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


class Terminal:
    """Runs commands of a document in a directory, on free ports, with the package that `sources`
    has."""

    def __init__(self, directory: Path, sources: Path = ROOT / "src") -> None:
        self.directory = directory
        self._environment = _environment(directory, sources)
        self._held = {port: _hold_port() for port in _PORTS}
        self._ports = {port: str(held.getsockname()[1]) for port, held in self._held.items()}
        self._behind: dict[str, subprocess.Popen[bytes]] = {}
        read, write = os.pipe()
        self._codes = os.fdopen(read)
        self._shell = subprocess.Popen(
            ["bash", "-c", f"exec 3>&{write}; exec bash"],
            cwd=directory,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            pass_fds=[write],
        )
        os.close(write)
        assert self._shell.stdin is not None
        self._shell.stdin.write(_PRELUDE.encode())
        self._shell.stdin.flush()

    def here(self, text: str) -> str:
        """Replace the ports in a text by those of this terminal."""
        return _PORT.sub(lambda item: self._ports[item[0]], text)

    def write(self, name: str, text: str) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.here(text))

    def serve(self, command: str) -> None:
        """Run `make serve`, without the installation, or `fairlead serve`. A server on the same
        port is stopped first."""
        match = _SERVE.fullmatch(command)
        assert match is not None
        flags = match[1] or match[2] or ""
        port = re.search(r"--secure-port[ =](\d+)", flags)
        if port is None:
            flags += " --secure-port 6443"
        process = self._start(port[1] if port else "6443", f"serve {flags}")
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        first = process.stdout.readline() if ready else b"nothing"
        assert b"https://" in first, f"{command}: {first!r}"

    def start_behind(self, command: str) -> None:
        """Run a command in the background; return when the ports that it, or its source, names are
        open."""
        self._start(command, command)
        sources = [self.directory / word for word in command.split()]
        texts = [self.here(command), *(path.read_text() for path in sources if path.is_file())]
        for port in self._ports.values():
            if any(re.search(rf"\b{port}\b", text) for text in texts):
                _await_open(int(port))

    def _start(self, name: str, command: str) -> subprocess.Popen[bytes]:
        if name in self._behind:
            _end(self._behind.pop(name))
        function = self.here(_PRELUDE + command)
        process = subprocess.Popen(
            ["bash", "-c", function],
            cwd=self.directory,
            env=self._environment,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._behind[name] = process
        return process

    def run(self, lines: list[str]) -> str:
        """Return the output of commands, without errors; a command that fails fails the test. The
        shell keeps its state between calls."""
        return "".join(map(self._run, lines))

    def _run(self, command: str) -> str:
        out, err = (self.directory / name for name in (".out", ".err"))
        line = f"{{ {self.here(command)}\n}} < /dev/null > {out} 2> {err}; echo $? >& 3\n"
        assert self._shell.stdin is not None
        self._shell.stdin.write(line.encode())
        self._shell.stdin.flush()
        ready, _, _ = select.select([self._codes], [], [], PATIENCE)
        code = self._codes.readline().strip() if ready else "no end"
        text = out.read_text(errors="replace")
        assert code == "0", f"$ {command}\n{text}{err.read_text(errors='replace')}exit code {code}"
        return text

    def play(self, block: str) -> None:
        """Run a console block and compare the output."""
        for command, wanted in steps(block):
            if _SERVE.fullmatch(command):
                self.serve(command)
            elif command.endswith(" &"):
                self.start_behind(command[:-2])
            else:
                output = self.run([command])
                missing = missing_line(map(self.here, wanted), output)
                assert missing is None, f"$ {command}\ndoes not print {missing!r} but\n{output}"

    def play_python(self, text: str) -> None:
        """Run a script, or code with top-level await like `python -m asyncio`."""
        self.write(".block.py", text)
        self.run([f"python -c {shlex.quote(_LAUNCH)}"])

    def close(self) -> None:
        for process in (self._shell, *reversed(self._behind.values())):
            _end(process)
        for held in self._held.values():
            held.close()
        self._codes.close()


def _await_open(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), PATIENCE).close()
            return
        except OSError:
            assert time.monotonic() < until, f"nothing listens on port {port}"
            time.sleep(0.02)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process group: gracefully, unless that takes too long."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
        try:
            process.wait(PATIENCE / 4)
            break
        except subprocess.TimeoutExpired:
            continue
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _environment(home: Path, sources: Path) -> dict[str, str]:
    """Isolate the environment from that of the user who runs the tests."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    for name in ("KUBECONFIG", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        kept.pop(name, None)
    kept["HOME"] = str(home)
    folders = [str(sources), *filter(None, [kept.get("PYTHONPATH")])]
    kept["PYTHONPATH"] = os.pathsep.join(folders)
    known = {point.value for point in entry_points(group="pytest11")}
    if "fairlead.testing.plugin" not in known:  # installed before the plugin existed
        kept["PYTEST_ADDOPTS"] = "-p fairlead.testing.plugin"
    return kept
