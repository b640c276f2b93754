"""DenyServiceExternalIPs: rejects new external IPs of services; existing ones may stay."""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import Object, PluginBase, refusal

SERVICES = "core/v1/services"


class DenyServiceExternalIPs(PluginBase):
    name = "DenyServiceExternalIPs"

    def validate(self, attributes: Attributes) -> None:
        value = attributes.value
        if attributes.resource.key != SERVICES or value is None:
            return
        if attributes.operation not in (CREATE, UPDATE):
            return
        if not _addresses(value) <= _addresses(attributes.old):
            raise refusal(attributes, "Use of external IPs is denied by admission control.")


def _addresses(service: Object | None) -> set[str]:
    return set(service["spec"].get("externalIPs") or ()) if service is not None else set()
