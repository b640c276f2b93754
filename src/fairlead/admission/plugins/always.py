"""AlwaysAdmit and AlwaysDeny: for trying things out."""

from __future__ import annotations

from fairlead.admission.plugin import Attributes
from fairlead.admission.plugins.base import PluginBase, early_refusal
from fairlead.auth.authentication.user import is_server

_DENIED = "admission control is denying all modifications"


class AlwaysAdmit(PluginBase):
    name = "AlwaysAdmit"


class AlwaysDeny(PluginBase):
    """Denies what anybody writes but the server itself, which could not start without."""

    name = "AlwaysDeny"

    async def admit(self, attributes: Attributes) -> None:
        if not is_server(attributes.user):
            raise early_refusal(attributes, _DENIED)

    async def validate(self, attributes: Attributes) -> None:
        if not is_server(attributes.user):
            raise early_refusal(attributes, _DENIED)
