"""`--read-only`: a look into a store that stays as it is.

Whoever writes is refused before anybody else is asked. What the server itself would write is left
out (`Assembly`), and the store takes nothing (`storage.read_only`).
"""

from __future__ import annotations

from fairlead.admission.plugin import CONNECT, Attributes, PluginBase
from fairlead.base.errors import forbidden

# Those whose objects are answered and not kept.
_ANSWERED_GROUPS = ("authentication", "authorization")
_ANSWERED = ("core/v1/serviceaccounts/token",)


class ReadOnly(PluginBase):
    """Refuses every write that would change what is stored."""

    name = "ReadOnly"

    async def admit(self, attributes: Attributes) -> None:
        resource = attributes.resource
        if attributes.operation == CONNECT or attributes.context.dry_run:
            return
        if resource.group_version.short in _ANSWERED_GROUPS or resource.key in _ANSWERED:
            return
        raise forbidden(resource.main.ref(attributes.name), "the server is read-only")
