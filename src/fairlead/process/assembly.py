"""Wires the parts of a server together, from the store up to the controllers."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any

from fairlead.admission.catalogue import (
    Dependencies,
    PluginNameError,
    build_plugins,
    enabled_plugins,
    known_plugins,
)
from fairlead.admission.chain import Chain
from fairlead.admission.configuration import Configuration, read_configuration
from fairlead.admission.plugin import CONNECT, Attributes, LazyPlugin, Plugin, PluginBase
from fairlead.admission.plugins.rbac_escalation import RbacEscalation
from fairlead.admission.policies import param_access
from fairlead.admission.policies.policy_index import POLICY_RESOURCES
from fairlead.admission.policies.setup import PolicyDependencies, PolicySetup
from fairlead.admission.webhooks.plugins import Applies
from fairlead.admission.webhooks.setup import WebhookDependencies as WebhookSurroundings
from fairlead.admission.webhooks.setup import webhook_plugins
from fairlead.auth.authentication.expiring_secrets import ExpiringSecrets
from fairlead.auth.authentication.factory import Authentication, build_authenticator
from fairlead.auth.authentication.token_methods import AuthenticationError, SecretsOf
from fairlead.auth.authorization.bindings import Listener
from fairlead.auth.authorization.modes import DEFAULT_MODES, ModeError
from fairlead.auth.authorization.rbac import CLUSTER_ROLES
from fairlead.auth.authorization.reconciliation import reconcile_bootstrap_objects
from fairlead.auth.authorization.setup import (
    Authorization,
    AuthorizationOptions,
    build_authorization,
)
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError, forbidden
from fairlead.base.logs import Logger
from fairlead.codec.configuration_files import ConfigurationError
from fairlead.controllers.aggregation.registry import API_SERVICES
from fairlead.controllers.aggregation.setup import Aggregation, ApiServiceReconcilers
from fairlead.controllers.certificates.flags import SigningFlagError
from fairlead.controllers.own_service import advertised_address
from fairlead.controllers.servers.endpoint_list import Server
from fairlead.controllers.simulation import setup as simulation
from fairlead.operations.api import Api, Object
from fairlead.operations.client import own_client
from fairlead.operations.webhook_objects import WebhookObjects
from fairlead.process import console_secrets
from fairlead.process.certificates.authority import Pair, Pki, ensure_service_account_key
from fairlead.process.certificates.shared_authority import ForeignAuthority, keys_in
from fairlead.process.controllers import ControllerManager
from fairlead.process.data_directory import FileError
from fairlead.process.first_objects import ReconciledObjects, create_first_objects, own_service
from fairlead.resources.core.services.allocation import (
    ServiceAllocators,
    parse_networks,
    parse_ports,
)
from fairlead.resources.core.services.claims import (
    IP_ADDRESSES,
    SERVICE_RANGES,
    AddressObjects,
    Claims,
)
from fairlead.resources.custom import webhook_conversion
from fairlead.resources.custom.definition import Converter
from fairlead.resources.custom.registry import DEFINITIONS, Registry
from fairlead.resources.gates import GateError, parse_gates
from fairlead.resources.registry import Resources
from fairlead.resources.runtime_config import RuntimeConfigError, apply_runtime_config
from fairlead.storage.store import Store
from fairlead.storage.version import Change
from fairlead.wire.outgoing.cluster import ClusterDialer
from fairlead.wire.outgoing.flags import ReachError, build_reach, build_webhooks
from fairlead.wire.outgoing.webhooks import Webhooks

logger = Logger("fairlead")

SERVICES = "core/v1/services"


class StartError(Exception):
    """The server cannot start; the message is for the user who started it."""


class Assembly:
    """The parts of one server. Await `prepare` before serving. `leads` is False if another process
    of the same server creates the initial objects and runs the controllers. `overrides` are the
    stores of other clusters, by resource."""

    def __init__(
        self,
        options: argparse.Namespace,
        dialect: Dialect,
        store: Store,
        pki: Pki,
        resources: Resources,
        address: str,
        *,
        leads: bool = True,
        overrides: Mapping[str, Store] = MappingProxyType({}),
    ) -> None:
        self.options = options
        self.dialect = dialect
        self._is_prepared = False
        self.store_checks: Mapping[str, Callable[[], str | None]] = {}  # besides that it answers
        self.api = self._api(store, resources, overrides)
        self.api.allocators = self._allocators()
        self.api.reach = self._reach()
        self.authorization = self._authorization()
        self.api.authorizer = self.authorization.authorizer
        self._objects = own_client(self.api)
        self.api.authentication = self._authentication(pki)
        self.webhooks = self._webhooks()
        self.api.admission = Chain(
            [
                *((ReadOnly(),) if options.read_only else ()),
                *self._plugins(),
                RbacEscalation(self.authorization.guard),
                LazyPlugin("ParamAccess", POLICY_RESOURCES, self._param_access),
            ]
        )
        self.definitions = Registry(self.api, self._converter)
        self.follow(DEFINITIONS, self.definitions.changed)
        proxy = pki.proxy_client
        self.aggregation = Aggregation(
            dialect,
            self.webhooks,
            proxy.certificate,
            proxy.key,
            self.api.authentication.identity_headers,
            passes_redirects=not options.aggregator_reject_forwarding_redirect,
            read_only=options.read_only,
            sends_uid=self.api.gates["RemoteRequestHeaderUID"],
        )
        self.api_services = ApiServiceReconcilers(
            self.api, self._objects, self.aggregation, self.webhooks
        )
        self.follow(API_SERVICES, self.aggregation.extensions.changed)
        leads = leads and not options.read_only
        self.controller_manager = self._build_controller_manager(pki.ca, address, leads)
        self._reconciled = ReconciledObjects(self.api, options, pki)
        self.controller_manager.additional += self._reconciled.controllers

    def _api(self, store: Store, resources: Resources, overrides: Mapping[str, Store]) -> Api:
        try:
            gates = parse_gates(",".join(self.options.feature_gates), resources.release)
            if self.options.simulate_nodes:
                simulation.add_metrics_group(resources)
            apply_runtime_config(resources, self.options.runtime_config)
        except GateError as error:
            raise StartError(f"--feature-gates: {error}") from None
        except RuntimeConfigError as error:
            raise StartError(f"--runtime-config: {error}") from None
        api = Api(resources, store, gates, overrides)
        api.shortest_watch = self.options.min_request_timeout
        return api

    def follow(self, key: str, listener: Listener) -> None:
        """Call a listener for every object of a resource, now and after each commit."""
        resources = self.api.resources
        if resources.serves(key):
            collection = self.api.collection(resources.named(key))
            store = self.api.store_of(collection.resource)
            store.follow(collection, listener, essential=True)

    def _allocators(self) -> ServiceAllocators:
        options = self.options
        try:
            networks = parse_networks(options.service_cluster_ip_range)
        except ValueError as error:
            raise StartError(f"--service-cluster-ip-range: {error}") from None
        try:
            ports = parse_ports(options.service_node_port_range)
        except ValueError as error:
            raise StartError(f"--service-node-port-range: {error}") from None
        band = self.api.gates["ServiceIPStaticSubrange"]
        store = self.api.store
        claims = Claims(store) if not store.is_sole_writer else None
        resources = self.api.resources
        objects = None
        if resources.serves(IP_ADDRESSES):
            collection = self.api.collection(resources.named(IP_ADDRESSES))
            objects = AddressObjects(collection, self.dialect)
        allocators = ServiceAllocators(
            networks, ports, static_band=band, claims=claims, objects=objects
        )

        def changed(change: Change) -> None:
            old = change.before.object() if change.before is not None else None
            allocators.observe(old, change.after.object() if change.after is not None else None)

        def changed_range(change: Change) -> None:
            after = change.after.object() if change.after is not None else None
            allocators.observe_range(change.key, after)

        def changed_address(change: Change) -> None:
            allocators.observe_address(change.key, change.after is not None)

        self.follow(SERVICES, changed)
        self.follow(SERVICE_RANGES, changed_range)
        self.follow(IP_ADDRESSES, changed_address)
        return allocators

    def _reach(self) -> ClusterDialer:
        try:
            return build_reach(self.options)
        except ReachError as error:
            raise StartError(str(error)) from None

    def _webhooks(self) -> Webhooks:
        try:
            simulated = self._simulated_address if self.options.simulate_nodes else None
            return build_webhooks(self.options, self.api.lookup, simulated)
        except ReachError as error:
            raise StartError(str(error)) from None

    async def _simulated_address(
        self, namespace: str, endpoint: Object, port: int
    ) -> tuple[str, int] | None:
        simulated = self.api.simulated
        if simulated is None:
            return None
        return await simulated.address_of(namespace, endpoint, port)

    def _converter(self, definition: Object) -> Converter | None:
        """Return the converter for objects of a definition, if conversion changes more than the
        apiVersion."""
        conversion = definition["spec"].get("conversion") or {}
        if conversion.get("strategy") != "Webhook":
            return None
        kind = definition["spec"]["names"]["kind"]
        return webhook_conversion.WebhookConverter(
            self.webhooks, self.dialect, self.api.gates, kind, conversion["webhook"]
        )

    def _authorization(self) -> Authorization:
        options = self.options
        chosen = AuthorizationOptions(
            options.authorization_mode or ",".join(DEFAULT_MODES),
            options.authorization_policy_file,
            options.authorization_webhook_config_file,
            options.authorization_webhook_version,
            options.authorization_webhook_cache_authorized_ttl,
            options.authorization_webhook_cache_unauthorized_ttl,
            options.authorization_config,
        )
        try:
            return build_authorization(
                self.dialect, self.follow, chosen, self.api.gates, self.api.types
            )
        except ModeError as error:
            raise StartError(f"--authorization-mode: {error}") from None
        except ConfigurationError as error:
            raise StartError(str(error)) from None

    def _authentication(self, pki: Pki) -> Authentication:
        try:
            return build_authenticator(
                self.options,
                self.dialect,
                lookup=self.api.lookup,
                follow=self.follow,
                own_ca=pki.ca.certificate,
                own_key=ensure_service_account_key(self.options.data_dir),
                console=self._console_secrets(),
                authorization_modes=self.authorization.authorizer.mode_names,
                gates=self.api.gates,
                types=self.api.types,
            )
        except (AuthenticationError, FileError) as error:
            raise StartError(str(error)) from None

    def _console_secrets(self) -> SecretsOf | None:
        """The storage for sessions of the console; None without a console."""
        if not self.options.console:
            return None
        if self.options.storage == "etcd" and not self.options.read_only:
            return console_secrets.secrets_of_servers(self.api, self._objects)
        return lambda kind, keys: ExpiringSecrets(self.options.data_dir / "console" / kind)

    def _plugins(self) -> list[Plugin | LazyPlugin]:
        api = self.api

        async def create_namespace(name: str) -> None:
            try:
                await self._objects.create("core/v1/namespaces", {"metadata": {"name": name}})
            except StatusError as error:
                if error.reason != "AlreadyExists":
                    raise

        enabled = ",".join(self.options.enable_admission_plugins)
        disabled = ",".join(self.options.disable_admission_plugins)
        try:
            configuration = self._admission_configuration()
            names = enabled_plugins(self.dialect, api.resources.release, enabled, disabled)
            policies = PolicySetup(self._policy_surroundings())
            webhooks = self._webhook_surroundings(policies.webhook_applies)
            needs = Dependencies(
                find=api.newest,
                namespace=api.namespace,
                collection=lambda key: api.collection(api.resources.named(key)),
                allowed=api.allowed,
                decide=api.decide,
                create_namespace=create_namespace,
                resources=api.resources,
                configuration=configuration,
                others={
                    **webhook_plugins(webhooks, configuration, names),
                    **policies.plugins(names),
                },
            )
            return build_plugins(self.dialect, enabled, disabled, needs)
        except (PluginNameError, ConfigurationError) as error:
            raise StartError(str(error)) from None

    def _param_access(self) -> Plugin:
        return param_access.ParamAccess(self.api.resources, self.api.decide)

    def _policy_surroundings(self) -> PolicyDependencies:
        api = self.api
        objects = WebhookObjects(api)
        return PolicyDependencies(
            api.resources,
            objects,
            api.namespace,
            lambda key: api.collection(api.resources.named(key)),
            objects.read,
            api.decide,
            self.follow,
            lambda: api.admission.forget(),
            lambda: self._is_prepared,
        )

    def _webhook_surroundings(self, applies: Applies) -> WebhookSurroundings:
        api = self.api
        return WebhookSurroundings(
            api.resources,
            self.webhooks,
            WebhookObjects(api),
            api.namespace,
            self.follow,
            lambda: api.admission.forget(),
            lambda: self._is_prepared,
            applies,
        )

    def _admission_configuration(self) -> Configuration:
        path = self.options.admission_control_config_file
        if path is None:
            return Configuration()
        return read_configuration(path, self.api.types, known_plugins(self.api.resources.release))

    def _check_root_ca(self) -> None:
        path = self.options.root_ca_file
        if path is None:
            return
        try:
            keys_in(path)
        except OSError as error:
            raise StartError(f"--root-ca-file: cannot read {path}: {error.strerror}") from None
        except ValueError:
            raise StartError(f"--root-ca-file: {path} has no certificate") from None

    def _build_controller_manager(self, ca: Pair, address: str, leads: bool) -> ControllerManager:
        self._check_root_ca()
        try:
            return ControllerManager(
                self.api,
                self.options,
                ca,
                address,
                self._objects,
                self.definitions,
                self.api_services,
                runs_controllers=leads,
            )
        except SigningFlagError as error:
            raise StartError(str(error)) from None

    async def prepare(self, port: int) -> None:
        """Create the initial objects and load the stored configuration."""
        if self.options.read_only:
            self.mark_prepared()
            return
        network = parse_networks(self.options.service_cluster_ip_range)[0]
        await asyncio.gather(
            create_first_objects(self.api, self._objects, str(network[1]), port),
            self.api_services.own.register(),
        )
        service = own_service(self.dialect, str(network[1]), port)
        try:
            await self.controller_manager.prepare(service, self._reached_at(port))
        except ForeignAuthority as error:
            raise StartError(str(error)) from None
        await asyncio.gather(self._reconciled.prepare(), self._reconcile_roles())
        self._is_prepared = True

    async def _reconcile_roles(self) -> None:
        if self.api.resources.serves(CLUSTER_ROLES):
            additional = simulation.metrics_roles() if self.options.simulate_nodes else ""
            await reconcile_bootstrap_objects(
                self.dialect, self._objects, self.api.gates, additional
            )
            if self.controller_manager.aggregation is not None:
                self.controller_manager.aggregation.follow(self.follow)
                await self.controller_manager.aggregate()

    def mark_prepared(self) -> None:
        """Record that another process of this server has done what `prepare` does."""
        self._is_prepared = True

    def _reached_at(self, port: int) -> Server | None:
        options = self.options
        address = advertised_address(options.advertise_address, options.bind_address)
        if not address:
            logger.warning("no address for the API's own service; set one with --advertise-address")
        return Server(address, port) if address else None

    def background(self) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        """Return the background tasks of a running server."""
        return [
            self.api.authentication.run,
            *([self.authorization.run] if self.authorization.reloads else ()),
            self.aggregation.descriptions.run,
            *([self.aggregation.resources.run] if self.api.gates["AggregatedDiscovery"] else ()),
            *self.controller_manager.background_tasks(),
        ]

    async def leave(self) -> None:
        """Redirect clients to other servers; the first step of shutdown."""
        await self.controller_manager.leave()

    async def close(self) -> None:
        await self.leave()
        for plugin in self.api.admission.built_plugins():
            await plugin.close()
        await self.api.authentication.close()
        await self.authorization.close()
        await self.api.reach.close()
        await self.aggregation.close()
        await self.webhooks.close()


# `--read-only` serves a store without changing it.
#
# An admission plugin refuses writes before any other plugin runs. The server's own writes are left
# out (`Assembly`), and the store accepts none (`storage.read_only`).

# Requests for these get an answer but store nothing.
_ANSWERED_GROUPS = ("authentication", "authorization")
_ANSWERED_RESOURCES = ("core/v1/serviceaccounts/token",)


class ReadOnly(PluginBase):
    """Refuses every write that would change the store."""

    name = "ReadOnly"

    async def admit(self, attributes: Attributes) -> None:
        resource = attributes.resource
        if attributes.operation == CONNECT or attributes.context.dry_run:
            return
        if resource.group_version.short in _ANSWERED_GROUPS or resource.key in _ANSWERED_RESOURCES:
            return
        raise forbidden(resource.main.ref(attributes.name), "the server is read-only")
