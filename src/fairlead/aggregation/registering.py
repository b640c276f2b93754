"""What keeps the APIServices, and with them discovery, as they should be."""

from __future__ import annotations

from fairlead.aggregation.availability import Availability
from fairlead.aggregation.groups import RegisteredGroups
from fairlead.aggregation.local import LocalVersions
from fairlead.aggregation.probing import Prober
from fairlead.aggregation.registration import LocalServices
from fairlead.aggregation.remote_content import RemoteContent
from fairlead.aggregation.setup import Aggregation
from fairlead.controllers.framework import Controller
from fairlead.operations.api import Api
from fairlead.operations.client import Client
from fairlead.outgoing.webhooks import Webhooks


class Registering:
    """`groups` are those that clients are told of, `own` the APIServices of this server itself,
    `elsewhere` the content of the others."""

    def __init__(
        self, api: Api, objects: Client, aggregation: Aggregation, services: Webhooks
    ) -> None:
        local = LocalVersions(api.resources)
        aggregation.extensions.reserved = local.is_builtin
        self.groups = RegisteredGroups(local, aggregation.extensions)
        self.own = LocalServices(objects, api.dialect, local)
        self.elsewhere = RemoteContent(
            aggregation.extensions, self.groups, aggregation.calls, api.dialect
        )
        self._objects = objects
        self._extensions = aggregation.extensions
        self._prober = Prober(api.lookup, services, aggregation.calls)

    def controllers(self) -> list[Controller]:
        """What one of all servers runs."""
        return [self.own, Availability(self._objects, self._extensions, self._prober)]
