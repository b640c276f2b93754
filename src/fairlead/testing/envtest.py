"""A drop-in for the binaries that envtest starts: an API server and its etcd.

`KUBEBUILDER_ASSETS=$(fairlead test-env)` has existing suites of controller-runtime start Fairlead.
The server keeps its objects itself, so that what stands in for etcd only answers that it is well.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import NoReturn
from urllib.parse import urlsplit

_STANDING_IN = {"kube-apiserver": "apiserver", "etcd": "etcd"}
# Flags of the reference's server that mean nothing here.
_IGNORED_PREFIXES = ("--etcd-", "--insecure-", "--storage-")
_IGNORED = ("--address", "--port", "--allow-privileged", "--enable-priority-and-fairness")
_CERT_DIR = "--cert-dir"
_DATA = "fairlead"


def make_assets(directory: Path) -> None:
    """Write the programs that envtest looks for into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, part in _STANDING_IN.items():
        program = directory / name
        command = shlex.join([sys.executable, "-m", "fairlead.testing.envtest", part])
        program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        program.chmod(0o755)


def server_flags(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """The flags of `fairlead serve` for those of the reference's server, and the names of those
    that are left out. Raises ValueError where there is no directory for certificates."""
    flags, ignored, directory = ["--dialect", "kubernetes", "--testing"], [], ""
    for name, value in _pairs(given):
        if name == _CERT_DIR:
            directory = value
        elif name in _IGNORED or name.startswith(_IGNORED_PREFIXES):
            ignored.append(name)
        else:
            flags.append(f"{name}={value}")
    if not directory:
        raise ValueError(f"{_CERT_DIR} is missing: it is where everything is kept")
    flags.append(f"--data-dir={Path(directory) / _DATA}")
    certificate, key = (Path(directory) / f"apiserver.{end}" for end in ("crt", "key"))
    if certificate.exists() and key.exists():
        flags += [f"--tls-cert-file={certificate}", f"--tls-private-key-file={key}"]
    return flags, ignored


def _pairs(given: Sequence[str]) -> list[tuple[str, str]]:
    """Flags as envtest writes them: `--name=value`, or `--name` for true."""
    found = []
    words = iter(given)
    for word in words:
        name, sign, value = word.partition("=")
        found.append((name, value if sign else "true"))
    return found


def _run_server(given: Sequence[str]) -> NoReturn:
    try:
        flags, ignored = server_flags(given)
    except ValueError as error:
        raise SystemExit(f"kube-apiserver (fairlead): {error}") from None
    for name in ignored:
        print(f"kube-apiserver (fairlead): {name} is ignored", file=sys.stderr, flush=True)
    os.execv(sys.executable, [sys.executable, "-m", "fairlead", "serve", *flags])


def _run_etcd(given: Sequence[str]) -> None:
    """Answer on the address for clients that all is well, until told to end."""
    urls = dict(_pairs(given)).get("--listen-client-urls", "http://127.0.0.1:2379")
    parts = urlsplit(urls.split(",")[0])

    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = b'{"health":"true","reason":""}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *words: object) -> None:
            """Nothing."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)
    ThreadingHTTPServer((parts.hostname or "127.0.0.1", parts.port or 2379), Health).serve_forever()


def main(words: Sequence[str]) -> None:
    part, *given = words
    if part == "apiserver":
        _run_server(given)
    _run_etcd(given)


if __name__ == "__main__":
    main(sys.argv[1:])
