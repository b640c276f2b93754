"""`fairlead certificate approve | deny`."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from support.client import Object
from support.commands import Commands
from support.namespaces import Collection, random_word


def requests(fairlead: Commands) -> Collection:
    return fairlead.space.everywhere("certificatesigningrequests", "certificates.@")


def new_request(fairlead: Commands) -> str:
    """The name of a new request."""
    name = random_word()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jane")])
    key = ec.generate_private_key(ec.SECP256R1())
    csr = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    spec = {
        "request": b64encode(csr.public_bytes(Encoding.PEM)).decode(),
        "signerName": fairlead.space.dialect.signer_client,
        "usages": ["client auth"],
    }
    requests(fairlead).create(name, spec=spec)
    return name


def conditions(fairlead: Commands, name: str) -> list[Object]:
    result: list[Object] = requests(fairlead).read(name)["status"]["conditions"]
    return result


def kind(fairlead: Commands) -> str:
    group = fairlead.space.dialect.group_name("certificates.@")
    return f"certificatesigningrequest.{group}"


@pytest.mark.parametrize(
    ("verb", "done", "type", "reason"),
    [
        ("approve", "approved", "Approved", "FairleadApprove"),
        ("deny", "denied", "Denied", "FairleadDeny"),
    ],
)
def test_a_request_is_decided_on(
    fairlead: Commands, verb: str, done: str, type: str, reason: str
) -> None:
    first, second = new_request(fairlead), new_request(fairlead)
    out = fairlead("certificate", verb, first, f"csr/{second}")
    assert out == f"{kind(fairlead)}/{first} {done}\n{kind(fairlead)}/{second} {done}\n"
    condition = conditions(fairlead, first)[0]
    assert (condition["type"], condition["status"], condition["reason"]) == (type, "True", reason)
    assert condition["message"] == f"This CSR was {done} by fairlead certificate {verb}."


def test_deciding_again_changes_nothing_unless_forced(fairlead: Commands) -> None:
    name = new_request(fairlead)
    fairlead("certificate", "deny", name)
    before = requests(fairlead).read(name)
    assert fairlead("certificate", "deny", name) == f"{kind(fairlead)}/{name} denied\n"
    assert requests(fairlead).read(name) == before
    fairlead("certificate", "deny", name, "--force")
    assert len(conditions(fairlead, name)) == 1


def test_a_decision_is_not_turned_around(fairlead: Commands) -> None:
    name, other = new_request(fairlead), new_request(fairlead)
    fairlead("certificate", "deny", name)
    ran = fairlead.run("certificate", "approve", name, other)
    assert (ran.code, ran.out) == (1, f"{kind(fairlead)}/{other} approved\n")
    assert ran.errors == f'error: the request "{name}" was Denied before\n'


@pytest.mark.both_dialects
def test_requests_can_be_named_by_files(fairlead: Commands, tmp_path: Path) -> None:
    name = new_request(fairlead)
    api = f"{fairlead.space.dialect.group_name('certificates.@')}/v1"
    value = {"apiVersion": api, "kind": "CertificateSigningRequest", "metadata": {"name": name}}
    file = tmp_path / "csr.json"
    file.write_text(json.dumps(value))
    assert (
        fairlead("certificate", "deny", "-f", str(file), "-o", "name")
        == f"{kind(fairlead)}/{name}\n"
    )
    file.write_text(json.dumps({**value, "apiVersion": "v1", "kind": "Pod"}))
    ran = fairlead.run("certificate", "deny", "-f", str(file))
    assert ran.code == 1
    assert "can only handle certificate signing requests" in ran.errors


def test_what_cannot_be_decided_on(fairlead: Commands) -> None:
    ran = fairlead.run("certificate", "approve")
    assert ran.errors.startswith("error: name signing requests, or a file with them")
    missing = fairlead.run("certificate", "approve", "nope")
    assert missing.code == 1
    assert missing.errors.startswith("Error from server (NotFound): certificatesigningrequests.")
