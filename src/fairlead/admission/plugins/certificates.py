"""Plugins for certificate signing requests: CertificateApproval, CertificateSigning and
CertificateSubjectRestriction."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Awaitable, Callable

from cryptography.x509 import load_der_x509_csr
from cryptography.x509.oid import NameOID

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PluginBase, refusal
from fairlead.auth.authentication.user import MASTERS, User
from fairlead.auth.authorization.attributes import Attributes as AccessAttributes
from fairlead.base.dialect import Dialect
from fairlead.resources.certificates.conditions import APPROVED, conditions_of, of_type
from fairlead.resources.certificates.pem import blocks

REQUESTS = "certificates/v1/certificatesigningrequests"

Allowed = Callable[[AccessAttributes], Awaitable[bool]]


class SignerRights:
    """Whether a user may act for a signer: by its name, or by the wildcard of its domain."""

    def __init__(self, dialect: Dialect, allowed: Allowed) -> None:
        self._group = dialect.group_name("certificates.@")
        self._allowed = allowed

    async def has(self, user: User, verb: str, signer: str) -> bool:
        domain = signer.partition("/")[0]
        for name in (signer, f"{domain}/*"):
            access = AccessAttributes(
                user, verb, group=self._group, version="*", resource="signers", name=name
            )
            if await self._allowed(access):
                return True
        return False


APPROVAL = f"{REQUESTS}/approval"


class CertificateApproval(PluginBase):
    """Approving a signing request requires permission for its signer."""

    name = "CertificateApproval"
    concerns: frozenset[str] | None = frozenset({REQUESTS})

    def __init__(self, dialect: Dialect, allowed: Allowed) -> None:
        self._rights = SignerRights(dialect, allowed)
        self._free_denial = dialect.deny_without_signer_right

    async def validate(self, attributes: Attributes) -> None:
        if attributes.resource.key != APPROVAL or attributes.operation != UPDATE:
            return
        value, old = attributes.value, attributes.old
        assert value is not None
        assert old is not None
        if self._free_denial and of_type(value, APPROVED) == of_type(old, APPROVED):
            return
        # The signer of the old object counts: that of the new one is user input.
        signer = old["spec"]["signerName"]
        if not await self._rights.has(attributes.user, "approve", signer):
            raise refusal(
                attributes, f'user not permitted to approve requests with signerName "{signer}"'
            )


STATUS = f"{REQUESTS}/status"


class CertificateSigning(PluginBase):
    """Issuing a certificate requires permission for the request's signer."""

    name = "CertificateSigning"
    concerns: frozenset[str] | None = frozenset({REQUESTS})

    def __init__(self, dialect: Dialect, allowed: Allowed) -> None:
        self._rights = SignerRights(dialect, allowed)

    async def validate(self, attributes: Attributes) -> None:
        if attributes.resource.key != STATUS or attributes.operation != UPDATE:
            return
        value, old = attributes.value, attributes.old
        assert value is not None
        assert old is not None
        before, after = old.get("status") or {}, value.get("status") or {}
        same_certificate = (after.get("certificate") or "") == (before.get("certificate") or "")
        if same_certificate and conditions_of(value) == conditions_of(old):
            return
        signer = old["spec"]["signerName"]
        if not await self._rights.has(attributes.user, "sign", signer):
            raise refusal(
                attributes, f'user not permitted to sign requests with signerName "{signer}"'
            )


class CertificateSubjectRestriction(PluginBase):
    """The client signer must not certify members of the masters group."""

    name = "CertificateSubjectRestriction"
    concerns: frozenset[str] | None = frozenset({REQUESTS})

    def __init__(self, dialect: Dialect) -> None:
        self._signer = dialect.signer_client

    def validate(self, attributes: Attributes) -> None:
        if attributes.resource.key != REQUESTS or attributes.operation != CREATE:
            return
        assert attributes.value is not None
        spec = attributes.value["spec"]
        if spec["signerName"] != self._signer:
            return
        try:
            organizations = _organizations(b64decode(spec["request"]))
        except ValueError as error:
            raise refusal(attributes, f"failed to parse CSR: {error}") from None
        if MASTERS in organizations:
            raise refusal(
                attributes, f"use of {self._signer} signer with {MASTERS} group is not allowed"
            )


def _organizations(pem: bytes) -> list[str | bytes]:
    # Use the block that is signed: libraries differ in where a PEM block begins.
    block = next(blocks(pem), None)
    if block is None:
        raise ValueError("there is no PEM block")
    subject = load_der_x509_csr(block.der).subject
    return [part.value for part in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
