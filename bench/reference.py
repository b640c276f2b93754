"""`python -m bench.reference KUBE_APISERVER FLAGS`: the reference as a server of this bench.

Understands the flags that `bench.server` passes, starts an etcd, and becomes the API server, so
that the CPU time and memory of both count as the server's.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bench.server import free_port

_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def _end_with_parent() -> Callable[[], None]:
    control = ctypes.CDLL(None).prctl
    return lambda: control(_DIES_WITH_PARENT, signal.SIGKILL)


def _start_etcd(directory: Path) -> str:
    """Start an etcd that ends with this process, and return its URL."""
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    subprocess.Popen(
        [
            *("etcd", "--data-dir", str(directory / "etcd"), "--logger", "zap"),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"default={peer}", "--log-level", "error"),
            *("--quota-backend-bytes", str(4 << 30)),
        ],
        preexec_fn=_end_with_parent(),
    )
    return client


def _write_key(file: Path) -> None:
    """Write the key of service account tokens."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    file.write_bytes(key.private_bytes(*form, serialization.NoEncryption()))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.reference")
    parser.add_argument("program", help="a kube-apiserver")
    for flag in ("--data-dir", "--bind-address", "--secure-port", "--token-auth-file"):
        parser.add_argument(flag, required=True)
    options, _ = parser.parse_known_args()
    directory = Path(options.data_dir)
    directory.mkdir(parents=True, exist_ok=True)
    key = directory / "accounts.key"
    if not key.exists():
        _write_key(key)
    flags = {
        "etcd-servers": _start_etcd(directory),
        "bind-address": options.bind_address,
        "secure-port": options.secure_port,
        "token-auth-file": options.token_auth_file,
        "cert-dir": directory,
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": key,
        "service-account-signing-key-file": key,
        "service-cluster-ip-range": "10.0.0.0/16",
    }
    words = [options.program, *(f"--{name}={value}" for name, value in flags.items())]
    sys.stdout.flush()
    os.execv(options.program, words)


if __name__ == "__main__":
    main()
