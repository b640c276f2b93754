"""CertificateApproval: approving a signing request requires permission for its signer."""

from __future__ import annotations

from fairlead.admission.plugin import UPDATE, Attributes
from fairlead.admission.plugins.base import PluginBase, refusal
from fairlead.admission.plugins.signer_rights import REQUESTS, Allowed, SignerRights
from fairlead.base.dialect import Dialect
from fairlead.resources.certificates.conditions import APPROVED, of_type

APPROVAL = f"{REQUESTS}/approval"


class CertificateApproval(PluginBase):
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
        # Use the old object's signer: the new object's is user input.
        signer = old["spec"]["signerName"]
        if not await self._rights.has(attributes.user, "approve", signer):
            raise refusal(
                attributes, f'user not permitted to approve requests with signerName "{signer}"'
            )
