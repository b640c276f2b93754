"""AlwaysAdmit and AlwaysDeny: for experiments."""

from __future__ import annotations

from fairlead.admission.plugin import Attributes
from fairlead.admission.plugins.base import PluginBase, mutation_error
from fairlead.auth.authentication.user import is_server

_DENIED = "admission control is denying all modifications"


class AlwaysAdmit(PluginBase):
    name = "AlwaysAdmit"


class AlwaysDeny(PluginBase):
    """Rejects every write except the server's own, which it needs to start."""

    name = "AlwaysDeny"

    def admit(self, attributes: Attributes) -> None:
        if not is_server(attributes.user):
            raise mutation_error(attributes, _DENIED)

    def validate(self, attributes: Attributes) -> None:
        if not is_server(attributes.user):
            raise mutation_error(attributes, _DENIED)
