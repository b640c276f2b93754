"""Certificates, tokens and services of others for the tests of authentication."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fairlead.auth.authentication.impersonation import Impersonation
from fairlead.auth.authentication.keys import public_key
from fairlead.auth.authentication.user import User
from fairlead.wire.incoming.exchange import Peer
from support import http_server

Result = TypeVar("Result")
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
HERE = Path(__file__).parent


def run(work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(work)


def user_of(outcome: User | Awaitable[User | None] | None) -> User | None:
    """The user that an authentication method returns, at once or when awaited."""

    async def wait(awaitable: Awaitable[User | None]) -> User | None:
        return await awaitable

    return outcome if outcome is None or isinstance(outcome, User) else run(wait(outcome))


class FakeRequest:
    """The part of a request that authentication uses."""

    def __init__(self, *headers: tuple[str, str], certificates: tuple[bytes, ...] = ()) -> None:
        self.path = "/"
        self.raw_headers = [(name.lower().encode(), value.encode()) for name, value in headers]
        self.peer = Peer(certificates)
        self.warnings: list[str] = []
        self.notes: dict[str, str] = {}
        self.facts: dict[Any, Any] = {}
        self.impersonation: Impersonation | None = None

    def header(self, name: bytes) -> str:
        headers = [value for key, value in self.raw_headers if key == name]
        return headers[0].decode("latin-1") if headers else ""

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def note(self, name: str, text: str) -> None:
        self.notes[name] = text


def bearer(token: str) -> FakeRequest:
    return FakeRequest(("Authorization", f"Bearer {token}"))


def pem_of(key: Any) -> bytes:
    return bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def public_pem_of(key: Any) -> bytes:
    encoded = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return bytes(encoded)


@dataclass
class Certificate:
    """A certificate with its key, in memory and as files."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    path: Path
    above: list[x509.Certificate] = field(default_factory=list)

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def chain(self) -> tuple[bytes, ...]:
        return (self.der, *(item.public_bytes(Encoding.DER) for item in self.above))

    @property
    def files(self) -> tuple[Path, Path]:
        return self.path.with_suffix(".crt"), self.path.with_suffix(".key")

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()


def make_certificate(
    directory: Path,
    name: str,
    issuer: Certificate | None = None,
    *,
    organizations: tuple[str, ...] = (),
    is_ca: bool = False,
    usage: x509.ObjectIdentifier | None = CLIENT,
    start: timedelta = timedelta(minutes=-5),
    end: timedelta = timedelta(hours=1),
    hosts: tuple[str, ...] = (),
    path_length: int | None = None,
    uids: tuple[str, ...] = (),
) -> Certificate:
    """Make a certificate; without an issuer it is its own."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)
            for organization in organizations
        ]
        + ([x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else [])
        + [x509.NameAttribute(x509.ObjectIdentifier("1.3.6.1.4.1.57683.2"), uid) for uid in uids]
    )
    now = datetime.now(UTC)
    signing = issuer.key if issuer else key
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + start)
        .not_valid_after(now + end)
        .add_extension(x509.BasicConstraints(is_ca, path_length if is_ca else None), True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), False
        )
    )
    if usage is not None and not is_ca:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), False)
    if hosts:
        import ipaddress

        names = [x509.IPAddress(ipaddress.ip_address(host)) for host in hosts]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
    created = builder.sign(signing, hashes.SHA256())
    above = [issuer.certificate, *issuer.above] if issuer else []
    result = Certificate(
        created, key, directory / f"{name or 'nameless'}-{created.serial_number}", above
    )
    certificate_file, key_file = result.files
    certificate_file.write_text(
        result.pem + "".join(item.public_bytes(Encoding.PEM).decode() for item in above[:-1])
    )
    key_file.write_bytes(pem_of(key))
    return result


def make_ca(directory: Path, name: str = "test-ca", **settings: Any) -> Certificate:
    return make_certificate(directory, name, is_ca=True, **settings)


def token_of(
    claims: dict[str, Any], key: Any, algorithm: str = "RS256", key_id: str | None = None
) -> str:
    """A signed token with any claims."""
    headers = {"kid": key_id} if key_id is not None else {}
    payload = json.dumps(claims).encode()
    return jwt.PyJWS().encode(payload, key, algorithm=algorithm, headers=headers)


def forged(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"") -> str:
    """A token with any header and signature."""

    def part(content: bytes) -> str:
        return urlsafe_b64encode(content).rstrip(b"=").decode()

    head, body = (part(json.dumps(item).encode()) for item in (header, claims))
    return f"{head}.{body}.{part(signature)}"


def signed_with_public_key(claims: dict[str, Any], key: Any, key_id: str) -> str:
    """HS256 with the public key as its secret, the oldest trick."""
    import hashlib
    import hmac

    unsigned = forged({"alg": "HS256", "kid": key_id}, claims).rpartition(".")[0]
    digest = hmac.new(public_pem_of(key), unsigned.encode(), hashlib.sha256).digest()
    return f"{unsigned}.{urlsafe_b64encode(digest).rstrip(b'=').decode()}"


class OidcProvider:
    """A provider in a process of its own. It serves the documents of a directory over TLS, so
    that the test can change what it publishes while it runs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ca = make_ca(directory, "oidc-ca")
        self._serving = make_certificate(
            directory, "oidc", self.ca, usage=SERVER, hosts=("127.0.0.1",)
        )
        self.keys: dict[str, Any] = {}
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def ca_file(self) -> Path:
        return self.ca.files[0]

    @property
    def issuer(self) -> str:
        return f"https://127.0.0.1:{self.port}/realm"

    def start(self) -> OidcProvider:
        command = [
            *(sys.executable, str(HERE / "oidc_provider_process.py"), str(self.port)),
            *(str(path) for path in self._serving.files),
            str(self.directory),
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def publish(self, *algorithms: str, **keys: Any) -> None:
        """Announce algorithms and publish keys by their ids."""
        self.keys = keys
        listed = []
        for key_id, key in keys.items():
            listed.append({**public_key(key.public_key()).jwk(), "kid": key_id})
            del listed[-1]["alg"]
        (self.directory / "keys").write_text(json.dumps({"keys": listed}))
        document = {
            "issuer": self.issuer,
            "jwks_uri": f"https://127.0.0.1:{self.port}/keys",
            "id_token_signing_alg_values_supported": list(algorithms),
        }
        (self.directory / "configuration").write_text(json.dumps(document))

    def claims(self, **changes: Any) -> dict[str, Any]:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": "client",
            "sub": "jane",
            "iat": now,
            "exp": now + 300,
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, key_id: str, algorithm: str = "RS256", **changes: Any) -> str:
        return token_of(self.claims(**changes), self.keys[key_id], algorithm, key_id)


class JsonServer:
    """A server in a thread that answers each POST with the result of `answer`."""

    def __init__(
        self,
        directory: Path,
        answer: Callable[[dict[str, Any]], tuple[int, Any]],
        client_ca: Certificate | None = None,
    ) -> None:
        self.ca = make_ca(directory, "webhook-ca")
        serving = make_certificate(
            directory, "webhook", self.ca, usage=SERVER, hosts=("127.0.0.1",)
        )
        self.requests: list[dict[str, Any]] = []
        self.answer = answer
        outer = self

        class Handler(http_server.Handler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.read_body())
                outer.requests.append(body)
                code, value = outer.answer(body)
                self.reply(code, json.dumps(value).encode())

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*serving.files)
        if client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(client_ca.files[0])
        self._server = http_server.HttpServer(Handler, context)
        self.url = f"https://127.0.0.1:{self._server.server_port}/review"

    def stop(self) -> None:
        self._server.stop()

    def client_config(self, directory: Path, user: Certificate | None = None) -> Path:
        """The file with which the server finds this service."""
        entry: dict[str, Any] = {}
        if user is not None:
            certificate, key = user.files
            entry = {"client-certificate": str(certificate), "client-key": str(key)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "service",
                    "cluster": {
                        "server": self.url,
                        "certificate-authority": str(self.ca.files[0]),
                    },
                }
            ],
            "users": [{"name": "us", "user": entry}],
            "contexts": [{"name": "it", "context": {"cluster": "service", "user": "us"}}],
            "current-context": "it",
        }
        path = directory / "webhook.json"
        path.write_text(json.dumps(config))
        return path


def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def ec_key(curve: ec.EllipticCurve | None = None) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(curve or ec.SECP256R1())
