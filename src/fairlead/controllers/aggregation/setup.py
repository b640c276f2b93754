"""Assembles aggregation for a server: the proxy, and the controllers of APIServices."""

from __future__ import annotations

from pathlib import Path

from fairlead.api.chain import Handler, no_remote
from fairlead.base.dialect import Dialect
from fairlead.controllers.aggregation.availability import Availability
from fairlead.controllers.aggregation.calls import ExtensionCalls
from fairlead.controllers.aggregation.discovery import RemoteResources
from fairlead.controllers.aggregation.links import Links
from fairlead.controllers.aggregation.local import LocalVersions, RegisteredGroups
from fairlead.controllers.aggregation.openapi.refresh import Descriptions
from fairlead.controllers.aggregation.probe import Prober
from fairlead.controllers.aggregation.proxy import DocumentProxy, ExtensionProxy
from fairlead.controllers.aggregation.registration import LocalServices
from fairlead.controllers.aggregation.registry import Extensions
from fairlead.controllers.aggregation.remote_content import RemoteContent
from fairlead.controllers.aggregation.trust import ProxyTrust
from fairlead.controllers.framework import Controller
from fairlead.operations.api import Api
from fairlead.operations.client import Client
from fairlead.wire.outgoing.webhooks import Webhooks


class Aggregation:
    """The registry of extension servers, the client for them and the proxy. `services` resolves
    services to addresses; the files hold the client certificate for extension servers."""

    def __init__(
        self,
        dialect: Dialect,
        services: Webhooks,
        certificate: Path,
        key: Path,
        identity: tuple[bytes, ...],
        *,
        passes_redirects: bool = False,
        read_only: bool = False,
        sends_uid: bool = False,
    ) -> None:
        self.extensions = Extensions()
        self._links = Links(self.extensions, services, ProxyTrust(certificate, key))
        self.calls = ExtensionCalls(self._links)
        self._proxy = ExtensionProxy(
            self.extensions,
            self._links,
            identity,
            passes_redirects=passes_redirects,
            read_only=read_only,
            sends_uid=sends_uid,
        )
        documents = DocumentProxy(
            self.extensions,
            self._links,
            identity,
            passes_redirects=passes_redirects,
            sends_uid=sends_uid,
        )
        self.resources = RemoteResources(self.extensions, self.calls)
        kind_mark = dialect.marked("x-@-group-version-kind")
        self.descriptions = Descriptions(self.extensions, self.calls, documents, kind_mark)

    def attach(self, handler: Handler) -> None:
        """Install the proxy in the request handler, while at least one extension server is
        registered."""

        def look(_: str) -> None:
            handler.remote = self._proxy.find if self.extensions else no_remote

        self.extensions.listeners.append(look)
        look("")

    async def close(self) -> None:
        self._links.close()


class ApiServiceReconcilers:
    """`groups` are the API groups for discovery, `own` registers this server's APIServices,
    `remote_content` gives access to the content of extension servers."""

    def __init__(
        self, api: Api, objects: Client, aggregation: Aggregation, services: Webhooks
    ) -> None:
        local = LocalVersions(api.resources)
        aggregation.extensions.reserved = local.is_builtin
        self.groups = RegisteredGroups(local, aggregation.extensions, aggregation.resources)
        self.own = LocalServices(objects, api.dialect, local)
        self.remote_content = RemoteContent(
            aggregation.extensions, self.groups, aggregation.calls, api.dialect
        )
        self._objects = objects
        self._extensions = aggregation.extensions
        self._prober = Prober(api.lookup, services, aggregation.calls)

    def controllers(self) -> list[Controller]:
        """The controllers that run on the leader."""
        return [self.own, Availability(self._objects, self._extensions, self._prober)]
