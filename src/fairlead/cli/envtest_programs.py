"""Substitutes for the programs that envtest starts: kube-apiserver, etcd and kubectl.

    python -m fairlead.cli.envtest_programs kube-apiserver --secure-port=...

The etcd substitute stores nothing. It serves a health endpoint and the path of its data directory;
the API server keeps its own store below that directory.

As in envtest, no controllers run, unless FAIRLEAD_TEST_ENV_FLAGS enables them: `--controllers=*`.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import RELEASES
from fairlead.cli import main as run_command
from fairlead.cli.parser import complain
from fairlead.process.flags import serve
from fairlead.resources.gates import is_gate

PROGRAMS = ("kube-apiserver", "etcd", "kubectl")
_MORE_FLAGS = "FAIRLEAD_TEST_ENV_FLAGS"
_CERT_DIR, _ETCD, _GATES = "--cert-dir", "--etcd-servers", "--feature-gates"
_WHERE = "/fairlead"  # path at which the etcd substitute serves its data directory
_SECONDS_FOR_ETCD = 10.0
_ETCD_HELP = """\
Replaces etcd for envtest; Fairlead stores the objects itself. Other flags are ignored.

  --data-dir DIR               data directory of the server that uses this program as its etcd
  --listen-client-urls URL     address at which to report health
"""
_MODULE = "fairlead.cli.envtest_programs"


def server_flags(
    flags: Sequence[str], environment: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Translate flags of kube-apiserver to flags of `fairlead serve`; return them and the ignored
    flags. Raises ValueError without a reachable etcd URL, and without --cert-dir for a real
    etcd."""
    values = _values(flags)
    directory = Path(values.get(_CERT_DIR, ""))
    etcd_directory = _etcd_directory(values.get(_ETCD, ""))
    left_out: tuple[str, ...] = (_CERT_DIR,)
    if etcd_directory is not None:
        left_out = (_CERT_DIR, "--etcd-")
        own = ["--testing", f"--data-dir={etcd_directory / 'fairlead'}"]
    elif _CERT_DIR in values:
        own = ["--storage=etcd", f"--data-dir={directory / 'fairlead'}"]
    else:
        raise ValueError(f"{_CERT_DIR} is missing")
    passed = [flag for flag in flags if not flag.startswith(left_out)]
    certificate, key = (directory / f"apiserver.{end}" for end in ("crt", "key"))
    if "--tls-cert-file" not in values and certificate.exists() and key.exists():
        passed += [f"--tls-cert-file={certificate}", f"--tls-private-key-file={key}"]
    more = shlex.split(environment.get(_MORE_FLAGS, ""))
    if not any(flag.startswith("--controllers") for flag in more):
        more.append("--controllers=-*")
    passed, gates = _without_unknown_gates(passed)
    ignored = _unknown(passed)
    passed = [flag for flag in passed if flag not in ignored]
    return ["--dialect=kubernetes", *own, *passed, *more], [*ignored, *gates]


def _without_unknown_gates(flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """The flags without unknown feature gates, and the removed gates as flags. Many gates concern
    only the internals of the reference."""
    gate_flags, ignored = [], []
    for flag in flags:
        name, _, value = flag.partition("=")
        if name != _GATES:
            gate_flags.append(flag)
            continue
        gates = value.split(",")
        known_gates = [gate for gate in gates if is_gate(gate.partition("=")[0].strip())]
        ignored += [f"{_GATES}={gate}" for gate in gates if gate and gate not in known_gates]
        gate_flags += [f"{_GATES}={','.join(known_gates)}"] if known_gates else []
    return gate_flags, ignored


def _values(flags: Sequence[str]) -> dict[str, str]:
    """Parse flags in the form that envtest writes: `--name=value`."""
    return {name: value for name, _, value in (flag.partition("=") for flag in flags)}


class _FlagFinder(argparse.ArgumentParser):
    """Used to find unknown flags. Wrong values are reported better by the server itself."""

    def error(self, message: str) -> NoReturn:
        raise SystemExit(f"kube-apiserver (fairlead): {message}")


def _unknown(flags: Sequence[str]) -> list[str]:
    parser = _FlagFinder(allow_abbrev=False, add_help=False)
    serve.add_serve_flags(parser)
    return parser.parse_known_args(flags)[1]


def _etcd_directory(urls: str) -> Path | None:
    """The data directory of the etcd substitute; None for a real etcd. Raises ValueError if nothing
    listens at the URL."""
    url = urls.split(",")[0]
    if not url:
        raise ValueError(f"{_ETCD} is missing")
    try:
        with urlopen(url.rstrip("/") + _WHERE, timeout=_SECONDS_FOR_ETCD) as answer:
            return Path(json.load(answer)["dataDir"])
    except HTTPError as error:
        error.close()
        return None
    except (URLError, OSError) as error:
        raise ValueError(f"{_ETCD}: nothing answers at {url}: {error}") from None
    except (ValueError, KeyError):
        return None


def _run_server(arguments: Sequence[str]) -> int:
    if "--help" in arguments or "-h" in arguments:
        return run_command(["serve", "--help"])
    if "--version" in arguments:
        release = _values(arguments).get("--release", KUBERNETES.default_release)
        print(f"Kubernetes {RELEASES[release].advertised}")
        return 0
    try:
        flags, ignored = server_flags(arguments, os.environ)
    except ValueError as error:
        raise SystemExit(f"kube-apiserver (fairlead): {error}") from None
    for flag in ignored:
        print(f"kube-apiserver (fairlead): {flag} is ignored", file=sys.stderr, flush=True)
    return run_command(["serve", *flags])


def _run_etcd(arguments: Sequence[str]) -> None:
    """Serve the health endpoint on the client address until SIGTERM."""
    if "--help" in arguments or "-h" in arguments:
        print(_ETCD_HELP, end="")
        return
    flags = _values(arguments)
    parts = urlsplit(flags.get("--listen-client-urls", "http://127.0.0.1:2379").split(",")[0])
    directory = Path(flags.get("--data-dir", "default.etcd")).absolute()
    directory.mkdir(parents=True, exist_ok=True)
    answers = {
        "/health": b'{"health":"true","reason":""}',
        _WHERE: json.dumps({"dataDir": str(directory)}).encode(),
    }

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = answers.get(self.path)
            self.send_response(200 if content is not None else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *words: object) -> None:
            """Log no requests."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)
    address = (parts.hostname or "127.0.0.1", parts.port or 2379)
    try:
        server = ThreadingHTTPServer(address, Answering)
    except OSError as error:
        raise SystemExit(f"etcd (fairlead): cannot listen on {address}: {error}") from None
    server.serve_forever()


def main(words: Sequence[str]) -> int:
    program, *flags = words
    if program == "kube-apiserver":
        return _run_server(flags)
    if program == "kubectl":
        return run_command(flags)
    _run_etcd(flags)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))


# `fairlead test-env` writes these programs into a directory.


def add_flags(command: str, parser: ArgumentParser) -> None:
    parser.epilog = "export KUBEBUILDER_ASSETS=$(fairlead test-env)"
    parser.add_argument(
        "--release",
        choices=sorted(RELEASES),
        default=KUBERNETES.default_release,
        help=f"release of the API to serve; by default {KUBERNETES.default_release}",
    )
    parser.add_argument(
        "directory",
        nargs="?",
        metavar="DIRECTORY",
        help="directory to write to; by default one in the user's cache",
    )


def run(command: str, parser: ArgumentParser, options: argparse.Namespace) -> int:
    """Print only the directory of the programs; return the exit code."""
    directory: str | None = options.directory
    path = Path(directory).absolute() if directory else _default_directory(options.release)
    try:
        make_programs(path, options.release)
    except OSError as error:
        complain("fairlead", f"cannot write to {path}: {error.strerror}")
        return 1
    print(path)
    return 0


def _default_directory(release: str) -> Path:
    """A cache directory per release and interpreter, because the programs contain both."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    mark = sha256(sys.executable.encode()).hexdigest()[:12]
    return Path(cache) / "fairlead" / f"test-env-{release}-{mark}"


def make_programs(directory: Path, release: str) -> None:
    """Write the programs; the server serves that release. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        flags = [f"--release={release}"] if name == "kube-apiserver" else []
        command = shlex.join([sys.executable, "-m", _MODULE, name, *flags])
        fresh = directory / f".{name}.{os.getpid()}"
        fresh.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        fresh.chmod(0o755)
        fresh.replace(directory / name)  # atomic: another process may be starting the program
