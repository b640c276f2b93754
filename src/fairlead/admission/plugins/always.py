"""AlwaysAdmit and AlwaysDeny: for trying things out."""

from __future__ import annotations

from fairlead.admission.chain import Attributes
from fairlead.admission.plugins.base import PluginBase, early_refusal

_DENIED = "admission control is denying all modifications"


class AlwaysAdmit(PluginBase):
    name = "AlwaysAdmit"


class AlwaysDeny(PluginBase):
    name = "AlwaysDeny"

    async def admit(self, attributes: Attributes) -> None:
        raise early_refusal(attributes, _DENIED)

    async def validate(self, attributes: Attributes) -> None:
        raise early_refusal(attributes, _DENIED)
