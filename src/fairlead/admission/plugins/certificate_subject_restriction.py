"""CertificateSubjectRestriction: the client signer must not certify members of the masters
group."""

from __future__ import annotations

from base64 import b64decode

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.admission.plugins.base import PluginBase, refusal
from fairlead.admission.plugins.signer_rights import REQUESTS
from fairlead.auth.authentication.user import MASTERS
from fairlead.base.dialect import Dialect
from fairlead.resources.certificates.pem import blocks


class CertificateSubjectRestriction(PluginBase):
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
    # Imported lazily: the library is large and most servers sign nothing.
    from cryptography.x509 import load_der_x509_csr
    from cryptography.x509.oid import NameOID

    # Use the block that is signed: libraries differ in where a PEM block begins.
    block = next(blocks(pem), None)
    if block is None:
        raise ValueError("there is no PEM block")
    subject = load_der_x509_csr(block.der).subject
    return [part.value for part in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
