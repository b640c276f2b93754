"""The controllers of a server: those that every server runs, and those that only the leader
runs."""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import Sequence, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

from fairlead.auth.authorization.aggregation import ClusterRoleAggregation
from fairlead.auth.authorization.rbac import CLUSTER_ROLES
from fairlead.auth.authorization.rules import Rule
from fairlead.base.errors import StatusError
from fairlead.base.logs import Logger
from fairlead.controllers.aggregation.setup import ApiServiceReconcilers
from fairlead.controllers.catalogue import build_controllers, parse_controllers
from fairlead.controllers.custom_resources.controller import DefinitionController
from fairlead.controllers.dependencies import Dependencies
from fairlead.controllers.event_expiry import EventExpiry
from fairlead.controllers.events import EventWriter, Recorder
from fairlead.controllers.framework import Controller, Controllers, LazyController
from fairlead.controllers.own_service import OwnService
from fairlead.controllers.servers import identity as server_identity
from fairlead.controllers.servers.election import Elector, Work
from fairlead.controllers.servers.endpoint_list import (
    LeaseBased,
    Listing,
    MasterCount,
    NoListing,
    Server,
    SingleServer,
)
from fairlead.controllers.servers.flags import (
    LEASE,
    MASTER_COUNT,
    election_lease,
    election_pace,
)
from fairlead.controllers.simulation import setup
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.process.certificates.authority import Pair
from fairlead.process.certificates.shared_authority import ForeignAuthority, share_authority
from fairlead.resources.custom.registry import Registry
from fairlead.storage.backend import StorageError

logger = Logger("fairlead")

_STOP_TIMEOUT = 2.0  # seconds


def shares_store(api: Api) -> bool:
    """Return whether other servers write to the store. Workers of the same server do not count:
    they write through the process that owns the log."""
    return not api.store.log.predicts_revisions


class ControllerManager:
    """Builds and runs the controllers. `address` is where clients reach this server, `objects` is a
    client with the server's own identity.

    `runs_controllers` is False in a process that leaves the controllers to another process of the
    same server. Servers that share a store elect a leader. Raises SigningFlagError.
    """

    def __init__(
        self,
        api: Api,
        options: argparse.Namespace,
        ca: Pair,
        address: str,
        objects: Client,
        definitions: Registry,
        registering: ApiServiceReconcilers,
        *,
        runs_controllers: bool = True,
    ) -> None:
        self._api = api
        self._options = options
        self._ca = ca
        self._root_ca: Path = options.root_ca_file or ca.certificate
        self._address = self._advertised = address
        self._objects = objects
        self._definitions = definitions
        self._registering = registering
        self._runs_controllers = runs_controllers
        self._is_only_server = not shares_store(api)
        self._elects = options.leader_elect and not self._is_only_server
        self._running = parse_controllers(",".join(options.controllers)).running
        self._privileged = "RBAC" not in api.authorizer.mode_names
        self._events = EventWriter()
        self._own_service: OwnService | None = None
        self._has_left = False
        self.aggregation: ClusterRoleAggregation | None = None
        self.additional: list[Controller] = []  # more controllers for every server
        self._behaviours = (
            setup.answer_for_containers(api, options) if options.simulate_nodes else None
        )
        if not runs_controllers:
            return
        dependencies = self._dependencies()
        if "clusterrole-aggregation" in self._running:
            name = "clusterrole-aggregation-controller"
            client = Client(api, dependencies.user(name), name)
            self.aggregation = ClusterRoleAggregation(partial(_write_rules, client))
        self._built: Controllers | None = self._build(dependencies)
        if self._elects:
            self._built.close()  # built only to detect bad flags at start
            self._built = None

    def _dependencies(self) -> Dependencies:
        ca = self._ca
        return Dependencies(
            self._api,
            self._options,
            ca.certificate,
            ca.key,
            self._root_ca,
            self._address,
            self._privileged,
            remote=self._registering.remote_content,
        )

    def _build(self, dependencies: Dependencies) -> Controllers:
        """Build the controllers of the leader."""
        built = [
            *self._registering.controllers(),
            *build_controllers(dependencies, self._running),
            *self._simulation(dependencies),
        ]
        if self._options.storage == "sqlite":  # in etcd events expire by their lease
            built.append(EventExpiry(self._api, self._options.event_ttl))
        return Controllers(self._api, built, dependencies.events, dependencies.close)

    def _simulation(self, dependencies: Dependencies) -> Sequence[Controller | LazyController]:
        if self._behaviours is not None:
            return setup.build_simulation(dependencies, self._running, self._behaviours)
        return setup.build_stages(dependencies) if self._options.simulate_stages else ()

    async def prepare(self, service: Object, server: Server | None) -> None:
        """Publish the address of this server in its own service, now and while it runs. Without an
        address it is not published. Raises ForeignAuthority."""
        if not self._runs_controllers:
            return
        self._advertised = str(server or self._address)
        listing = self._listing(server)
        if not self._is_only_server and self._options.root_ca_file is None:
            await self._share_authority(set(listing.servers(None)) - {server})
        self._own_service = OwnService(self._objects, self._api.dialect, service, listing)
        if self._is_only_server:
            await self._own_service.sync()

    async def _share_authority(self, others: Set[Server | None]) -> None:
        """Check the CA, but let this server take over a store that no other server uses."""
        try:
            await share_authority(self._objects, self._api.dialect, self._root_ca)
        except ForeignAuthority as error:
            if others:
                raise
            logger.warning("another server of this store has another CA", err=error)

    def _listing(self, server: Server | None) -> Listing:
        options = self._options
        if server is None or options.endpoint_reconciler_type not in (LEASE, MASTER_COUNT):
            return NoListing()
        if options.endpoint_reconciler_type == MASTER_COUNT:
            return MasterCount(server, options.apiserver_count)
        if self._is_only_server:
            return SingleServer(server)
        return LeaseBased(self._objects, self._api.dialect, server)

    async def aggregate(self) -> None:
        """Complete the rules of aggregated roles before serving, if this server needs no
        election."""
        if self.aggregation is not None and not self._elects:
            await self.aggregation.reconcile()

    def background_tasks(self) -> list[Work]:
        """Return the background tasks of a running server."""
        return [self.run_for_every_server, self.run_for_leader] if self._runs_controllers else []

    async def run_for_every_server(self) -> None:
        """Run the controllers that belong to serving, which every server needs."""
        running: list[Controller] = [
            DefinitionController(self._api, self._definitions, self._objects),
            *self.additional,
        ]
        if self._own_service is not None:
            running.append(self._own_service)
        if self._api.gates["APIServerIdentity"]:
            running.append(self._identity_lease())
        await Controllers(self._api, running, self._events).run()

    def _identity_lease(self) -> server_identity.IdentityLease:
        by_host = self._api.gates["APIServerIdentityByHost"]
        return server_identity.IdentityLease(
            self._objects,
            self._api.dialect,
            self._options.identity_lease_duration_seconds,
            self._options.identity_lease_renew_interval_seconds,
            self._advertised if by_host else "",
        )

    async def run_for_leader(self) -> None:
        """Run the controllers of the leader, whenever this server is the leader."""
        if not self._elects:
            await self._term()
            return
        client = self._dependencies().manager()
        recorder = Recorder(self._events, client, client.manager)
        identity = f"{socket.gethostname()}_{uuid4()}"
        lease = election_lease(self._options, self._api.dialect)
        pace = election_pace(self._options)
        await Elector(self._api, client, recorder, lease, pace, identity, self._term).run()

    async def _term(self) -> None:
        controllers, self._built = self._built or self._build(self._dependencies()), None
        async with asyncio.TaskGroup() as group:
            group.create_task(controllers.run())
            if self.aggregation is not None:
                group.create_task(self.aggregation.run())

    async def leave(self) -> None:
        """Remove this server from its service, once, at the beginning of shutdown."""
        if self._own_service is None or self._is_only_server or self._has_left:
            return
        self._has_left = True
        try:
            async with asyncio.timeout(_STOP_TIMEOUT):
                await self._own_service.leave()
        except (StatusError, StorageError, TimeoutError) as error:
            logger.warning("cannot tell other servers that this one ends", err=error or "no answer")


async def _write_rules(client: Client, name: str, rules: list[Rule]) -> None:
    role = client.find(CLUSTER_ROLES, "", name)
    if role is None:
        return
    # With a uid, apply never creates the object.
    named = {"metadata": {"name": name, "uid": role["metadata"]["uid"]}}
    with suppress(StatusError):
        await client.apply(CLUSTER_ROLES, {**named, "rules": rules} if rules else named)
