"""CertificateSigning: issuing a certificate requires permission for the request's signer."""

from __future__ import annotations

from fairlead.admission.plugin import UPDATE, Attributes
from fairlead.admission.plugins.base import PluginBase, refusal
from fairlead.admission.plugins.signer_rights import REQUESTS, Allowed, SignerRights
from fairlead.base.dialect import Dialect
from fairlead.resources.certificates.conditions import conditions_of

STATUS = f"{REQUESTS}/status"


class CertificateSigning(PluginBase):
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
