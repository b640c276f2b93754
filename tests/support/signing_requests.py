"""Signing requests for the tests of certificates."""

from __future__ import annotations

import ipaddress
from base64 import b64decode, b64encode
from datetime import timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.process.certificates.issue import make_authority
from support.client import Client, Object
from support.namespaces import Collection, random_word
from support.waiting import eventually

KEY = ec.generate_private_key(ec.SECP256R1())
CLIENT_USAGES = ["digital signature", "key encipherment", "client auth"]
SERVING_USAGES = ["digital signature", "key encipherment", "server auth"]
NODE = ("system:nodes",)


def name_of(common_name: str | tuple[str, ...], organizations: tuple[str, ...] = ()) -> x509.Name:
    commons = (common_name,) if isinstance(common_name, str) else common_name
    parts = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)
        for organization in organizations
    ]
    return x509.Name(
        [*parts, *(x509.NameAttribute(NameOID.COMMON_NAME, common) for common in commons)]
    )


def request_pem(
    common_name: str | tuple[str, ...],
    organizations: tuple[str, ...] = (),
    *,
    dns: tuple[str, ...] = (),
    addresses: tuple[str, ...] = (),
    emails: tuple[str, ...] = (),
    uris: tuple[str, ...] = (),
    extensions: tuple[x509.ExtensionType, ...] = (),
) -> bytes:
    builder = x509.CertificateSigningRequestBuilder(name_of(common_name, organizations))
    names: list[x509.GeneralName] = [
        *map(x509.DNSName, dns),
        *map(x509.RFC822Name, emails),
        *(x509.IPAddress(ipaddress.ip_address(address)) for address in addresses),
        *map(x509.UniformResourceIdentifier, uris),
    ]
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=True)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(Encoding.PEM)


def object_of(signer: str, usages: list[str], pem: bytes, **spec: Any) -> Object:
    fields = {"request": b64encode(pem).decode(), "signerName": signer, "usages": usages}
    return {"metadata": {"name": f"csr-{random_word()}"}, "spec": {**fields, **spec}}


class Requests:
    """The signing requests of a server."""

    def __init__(self, client: Client, dialect: Dialect) -> None:
        self.dialect = dialect
        group = dialect.group_name("certificates.@")
        self.collection = Collection(client, f"/apis/{group}/v1/certificatesigningrequests")

    def create(
        self,
        signer: str,
        usages: list[str],
        pem: bytes,
        sender: tuple[str, str] = ("", ""),
        **spec: Any,
    ) -> str:
        """Gives the name; `sender` is the user and the group that ask, if not the admin."""
        headers = {"Impersonate-User": sender[0], "Impersonate-Group": sender[1]}
        body = object_of(signer, usages, pem, **spec)
        answer = self.collection.client.post(
            self.collection.path, body, headers=headers if sender[0] else None
        )
        assert answer.status == 201, answer.text
        return str(answer.body["metadata"]["name"])

    def decide(self, name: str, kind: str = "Approved") -> None:
        condition = {"type": kind, "status": "True", "reason": "Test", "message": "by a test"}
        path = self.collection.item(name, "approval")
        answer = self.collection.client.patch(path, {"status": {"conditions": [condition]}})
        assert answer.status == 200, answer.text

    def condition(self, name: str, kind: str) -> Object | None:
        conditions = self.collection.read(name)["status"].get("conditions", [])
        return next((condition for condition in conditions if condition["type"] == kind), None)

    def certificate(self, name: str) -> x509.Certificate:
        """Waits for it."""
        eventually(
            lambda: "certificate" in self.collection.read(name)["status"], f"{name} is signed"
        )
        text = self.collection.read(name)["status"]["certificate"]
        return x509.load_pem_x509_certificate(b64decode(text))

    def signed(self, signer: str, usages: list[str], pem: bytes, **spec: Any) -> x509.Certificate:
        name = self.create(signer, usages, pem, **spec)
        self.decide(name)
        return self.certificate(name)

    def refusal(self, signer: str, usages: list[str], pem: bytes) -> tuple[str, str]:
        """The reason and the message of the condition Failed."""
        name = self.create(signer, usages, pem)
        self.decide(name)
        eventually(lambda: self.condition(name, "Failed") is not None, f"{name} is refused")
        failed = self.condition(name, "Failed")
        assert failed is not None
        assert "certificate" not in self.collection.read(name)["status"]
        return failed["reason"], failed["message"]


def write_pair(certificate: x509.Certificate, directory: Path) -> tuple[Path, Path]:
    """A certificate and the key of all requests, as files for a client."""
    paths = directory / "client.crt", directory / "client.key"
    paths[0].write_bytes(certificate.public_bytes(Encoding.PEM))
    paths[1].write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return paths


def write_authority(
    directory: Path, name: str, lifetime: timedelta = timedelta(days=30)
) -> tuple[Path, Path]:
    """A new CA as files, which are overwritten."""
    issued = make_authority(name, clock.now(), lifetime)
    paths = directory / "signing.crt", directory / "signing.key"
    paths[0].write_bytes(issued.certificate)
    paths[1].write_bytes(issued.key)
    return paths
