"""The plugins that guard signing requests."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from support.admission import USER, World, refused

from fairlead.admission.plugins.certificates import (
    APPROVAL,
    REQUESTS,
    STATUS,
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.base.errors import StatusError

SIGNER = "example.com/foo"


def _request(
    *conditions: str, certificate: str = "", signer: str = SIGNER, **spec: Any
) -> dict[str, Any]:
    listed = [{"type": kind, "status": "True"} for kind in conditions]
    status: dict[str, Any] = {"conditions": listed}
    if certificate:
        status["certificate"] = certificate
    body = {"request": "", "signerName": signer, "usages": ["client auth"], **spec}
    return {"spec": body, "status": status}


def _refusal(dialect: Dialect, verb: str) -> str:
    resource = f"certificatesigningrequests.certificates.{dialect.group_domain}"
    why = f'user not permitted to {verb} requests with signerName "{SIGNER}"'
    return f'{resource} "a" is forbidden: {why}'


@pytest.mark.parametrize("right", [SIGNER, "example.com/*"])
def test_approval_needs_a_right_to_the_signer(right: str) -> None:
    world = World()
    plugin = CertificateApproval(KUBERNETES, world.needs.allowed)
    with refused(_refusal(KUBERNETES, "approve")):
        world.update(plugin, APPROVAL, _request(), _request("Approved"))
    assert [(q.user, q.verb, q.group, q.resource, q.name) for q in world.authorizations] == [
        (USER, "approve", "certificates.k8s.io", "signers", name)
        for name in (SIGNER, "example.com/*")
    ]
    world.rights.add(("approve", right))
    world.update(plugin, APPROVAL, _request(), _request("Approved"))


def test_the_signer_is_the_one_stored() -> None:
    world = World()
    world.rights.add(("approve", "example.com/mine"))
    plugin = CertificateApproval(KUBERNETES, world.needs.allowed)
    with refused(_refusal(KUBERNETES, "approve")):
        new = _request("Approved", signer="example.com/mine")
        world.update(plugin, APPROVAL, _request(), new)


def test_denial_needs_the_right_in_one_dialect_only() -> None:
    cluster, kubernetes = World(CLUSTER), World()
    plugin = CertificateApproval(KUBERNETES, kubernetes.needs.allowed)
    with refused(_refusal(KUBERNETES, "approve")):
        kubernetes.update(plugin, APPROVAL, _request(), _request("Denied"))
    plugin = CertificateApproval(CLUSTER, cluster.needs.allowed)
    cluster.update(plugin, APPROVAL, _request(), _request("Denied"))
    with refused(_refusal(CLUSTER, "approve")):
        cluster.update(plugin, APPROVAL, _request(), _request("Approved"))


@pytest.mark.parametrize(
    ("new", "needs_right"),
    [
        (_request("Approved"), False),
        (_request("Approved", certificate="eA=="), True),
        (_request("Approved", "Failed"), True),
    ],
)
def test_signing_needs_a_right_to_the_signer(new: dict[str, Any], needs_right: bool) -> None:
    world = World()
    plugin = CertificateSigning(KUBERNETES, world.needs.allowed)
    old = _request("Approved")
    if needs_right:
        with refused(_refusal(KUBERNETES, "sign")):
            world.update(plugin, STATUS, old, new)
    world.rights.add(("sign", SIGNER))
    world.update(plugin, STATUS, old, new)


def _pem(*organizations: str) -> str:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, "jane")]
    parts += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(parts))
    signed = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


@pytest.mark.parametrize("before", [b"  ", b"x", "\u00a0".encode()])
def test_a_request_that_is_not_signed_hides_no_other(before: bytes) -> None:
    """The signer ignores the first block, which other parsers would read."""
    world, plugin = World(), CertificateSubjectRestriction(KUBERNETES)
    pem = before + b64decode(_pem("dev")) + b64decode(_pem("system:masters"))
    request = _request(signer=KUBERNETES.signer_client, request=b64encode(pem).decode())
    with pytest.raises(StatusError, match="system:masters group is not allowed"):
        world.create(plugin, REQUESTS, request)


def test_nobody_becomes_a_master() -> None:
    world, plugin = World(), CertificateSubjectRestriction(KUBERNETES)
    client = KUBERNETES.signer_client
    masters = _pem("dev", "system:masters")
    world.create(plugin, REQUESTS, _request(signer=client, request=_pem("dev")))
    world.create(plugin, REQUESTS, _request(request=masters))
    with refused(
        'certificatesigningrequests.certificates.k8s.io "a" is forbidden: use of'
        f" {client} signer with system:masters group is not allowed"
    ):
        world.create(plugin, REQUESTS, _request(signer=client, request=masters))
