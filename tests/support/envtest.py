"""Starts and stops a control plane step by step like controller-runtime's envtest: with the same
flags, files, health checks and signals."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fairlead.process.certificates.authority import certificate_fields, self_contained

_PATIENCE = 20.0  # seconds for a start, and for a stop
_INTERVAL = 0.1
_WEEK = timedelta(hours=168)


def _suggested_port() -> int:
    with socket.socket() as item:
        item.bind(("127.0.0.1", 0))
        port: int = item.getsockname()[1]
        return port


@cache
def _key(role: str) -> rsa.RSAPrivateKey:
    """Cached: RSA keys are slow to generate."""
    return rsa.generate_private_key(65537, 2048)


class TinyCa:
    """A CA with RSA keys, whose certificates are valid for a week."""

    def __init__(self, role: str) -> None:
        self.key = _key(role)
        self._name = _name("envtest-environment", "envtest")
        self.certificate = (
            self._builder(self._name, self.key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256())
        )

    def _builder(self, subject: x509.Name, key: rsa.RSAPrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(seconds=1))
            .not_valid_after(now + _WEEK)
        )

    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    def serving(self) -> tuple[bytes, bytes]:
        names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        return self._issued(_name("localhost", "envtest"), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, name: str, groups: Sequence[str]) -> tuple[bytes, bytes]:
        return self._issued(_name(name, *groups), ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def _issued(
        self, subject: x509.Name, usage: x509.ObjectIdentifier, names: list[x509.GeneralName]
    ) -> tuple[bytes, bytes]:
        key = _key("leaf")
        builder = self._builder(subject, key).add_extension(
            x509.ExtendedKeyUsage([usage]), critical=False
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        return certificate.public_bytes(Encoding.PEM), _pem(key)


def _name(common: str, *organizations: str) -> x509.Name:
    parts = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)
        for organization in organizations
    ]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


class StartFailed(Exception):
    """A program did not answer in time, or has ended; the message is its output."""


class Program:
    """A process of etcd or of the server."""

    def __init__(self, path: Path, flags: dict[str, str], health: str) -> None:
        words = [f"--{name}={value}" for name, value in sorted(flags.items())]
        self._process = subprocess.Popen(
            [path, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self._await(health)

    def _await(self, url: str) -> None:
        insecure = ssl.create_default_context()
        insecure.check_hostname, insecure.verify_mode = False, ssl.CERT_NONE
        ends = time.monotonic() + _PATIENCE * 3  # the machine may be busy
        while time.monotonic() < ends and self._process.poll() is None:
            try:
                with urlopen(url, context=insecure) as answer:
                    if answer.status == 200:
                        return
            except (URLError, OSError):
                pass
            time.sleep(_INTERVAL)
        self._process.kill()
        raise StartFailed(self._process.communicate()[1])

    def stop(self) -> str:
        """Stop it and return its errors."""
        self._process.send_signal(signal.SIGTERM)
        output = self._process.communicate(timeout=_PATIENCE * 3)[1]
        assert self._process.returncode == 0, output
        return output


def has_flag(path: Path, flag: str) -> bool:
    """Return whether a program's help lists a flag, which is envtest's own check."""
    result = subprocess.run([path, "--help"], capture_output=True, text=True, check=True)
    return bool(re.search(rf"(?m)^\s*--{flag}\b", result.stdout + result.stderr))


@dataclass
class Environment:
    """`assets` is the directory of the programs; `more` are additional flags."""

    assets: Path
    more: dict[str, str] = field(default_factory=dict)
    etcd: Program = field(init=False)
    server: Program = field(init=False)

    def start(self) -> Environment:
        self.start_etcd()
        self.start_server()
        return self

    def start_etcd(self) -> None:
        self._data = Path(tempfile.mkdtemp(prefix="k8s_test_framework_"))
        self._etcd_url = f"http://127.0.0.1:{_suggested_port()}"
        path = self.assets / "etcd"
        flags = {
            "listen-peer-urls": f"http://127.0.0.1:{_suggested_port()}",
            "data-dir": str(self._data),
            "advertise-client-urls": self._etcd_url,
            "listen-client-urls": self._etcd_url,
        }
        if has_flag(path, "unsafe-no-fsync"):
            flags["unsafe-no-fsync"] = "true"
        self.etcd = Program(path, flags, f"{self._etcd_url}/health")

    def start_server(self, port: int = 0) -> None:
        self.port = port or _suggested_port()
        self._certificates = Path(tempfile.mkdtemp(prefix="k8s_test_framework_"))
        self._write_certificates()
        path = self.assets / "kube-apiserver"
        flags = {
            "service-cluster-ip-range": "10.0.0.0/24",
            "allow-privileged": "true",
            "disable-admission-plugins": "ServiceAccount",
            "cert-dir": str(self._certificates),
            "authorization-mode": "RBAC",
            "secure-port": str(self.port),
            "bind-address": "127.0.0.1",
            "service-account-issuer": f"{self.url}/",
            "service-account-key-file": str(self._certificates / "sa-signer.crt"),
            "service-account-signing-key-file": str(self._certificates / "sa-signer.key"),
            "client-ca-file": str(self._certificates / "client-cert-auth-ca.crt"),
            "etcd-servers": self._etcd_url,
            **self.more,
        }
        if has_flag(path, "insecure-port"):
            flags["insecure-port"] = "0"
        self.server = Program(path, flags, f"{self.url}/healthz")

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def _write_certificates(self) -> None:
        here = self._certificates
        ca, accounts, self._clients = (TinyCa(item) for item in ("serving", "accounts", "users"))
        certificate, key = ca.serving()
        (here / "apiserver.crt").write_bytes(certificate)
        (here / "apiserver.key").write_bytes(key)
        (here / "sa-signer.crt").write_bytes(accounts.pem())
        (here / "sa-signer.key").write_bytes(_pem(accounts.key))
        (here / "client-cert-auth-ca.crt").write_bytes(self._clients.pem())
        self._ca = ca.pem()

    def add_user(self, name: str, groups: Sequence[str] = ()) -> Path:
        """Return the kubeconfig of a new user."""
        fields = certificate_fields(*self._clients.client(name, groups))
        path = self._certificates / f"{name}.kubecfg"
        path.write_bytes(self_contained(self.url, self._ca, fields))
        return path

    def write_credentials(self, place: Path, name: str, groups: Sequence[str] = ()) -> None:
        """Write the certificate and key of a new user, and the CA of the server, as files."""
        certificate, key = self._clients.client(name, groups)
        for file, content in (
            ("client.crt", certificate),
            ("client.key", key),
            ("ca.crt", self._ca),
        ):
            (place / file).write_bytes(content)

    def stop_server(self) -> str:
        text = self.server.stop()
        shutil.rmtree(self._certificates)
        return text

    def stop(self) -> str:
        """Stop everything and return the errors of the server."""
        text = self.stop_server()
        self.etcd.stop()
        shutil.rmtree(self._data)
        return text
