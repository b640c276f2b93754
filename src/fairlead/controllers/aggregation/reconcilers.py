"""Assembles the controllers of APIServices and the data for discovery."""

from __future__ import annotations

from fairlead.controllers.aggregation.availability import Availability
from fairlead.controllers.aggregation.groups import RegisteredGroups
from fairlead.controllers.aggregation.local import LocalVersions
from fairlead.controllers.aggregation.probe import Prober
from fairlead.controllers.aggregation.registration import LocalServices
from fairlead.controllers.aggregation.remote_content import RemoteContent
from fairlead.controllers.aggregation.setup import Aggregation
from fairlead.controllers.framework import Controller
from fairlead.operations.api import Api
from fairlead.operations.client import Client
from fairlead.wire.outgoing.webhooks import Webhooks


class ApiServiceReconcilers:
    """`groups` are the API groups for discovery, `own` registers this server's APIServices,
    `elsewhere` gives access to the content of extension servers."""

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
        """The controllers that run on the leader."""
        return [self.own, Availability(self._objects, self._extensions, self._prober)]
