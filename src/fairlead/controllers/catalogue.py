"""The controllers, by the names that `--controllers` knows them by."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fairlead.controllers.events import EventWriter, Recorder
from fairlead.controllers.finished_jobs import FinishedJobs
from fairlead.controllers.framework import Controller, controller_user, manager_user
from fairlead.controllers.namespace_deletion import NamespaceDeletion
from fairlead.controllers.node_lifecycle.controller import NodeLifecycle, Patience
from fairlead.controllers.node_lifecycle.zones import Rates
from fairlead.controllers.node_ttl import NodeTtl
from fairlead.controllers.pod_collection import PodCollection
from fairlead.controllers.pods_by_node import PodsByNode
from fairlead.controllers.resource_quotas import ResourceQuotas
from fairlead.controllers.root_ca import RootCaPublisher
from fairlead.controllers.service_accounts import DefaultServiceAccounts
from fairlead.controllers.storage_protection import ClaimProtection, VolumeProtection
from fairlead.controllers.taint_eviction import TaintEviction
from fairlead.controllers.token_cleaner import TokenCleaner
from fairlead.controllers.token_secrets import TokenSecrets
from fairlead.dialect import Dialect
from fairlead.operations.api import Api
from fairlead.operations.client import Client


@dataclass(frozen=True)
class Surroundings:
    """What controllers are built from. `privileged`: roles decide nothing on this server, so that
    the controllers' users must be allowed everything. `ca` is the certificate of its authority."""

    api: Api
    options: argparse.Namespace
    ca: Path
    privileged: bool
    events: EventWriter = field(default_factory=EventWriter)

    @property
    def dialect(self) -> Dialect:
        return self.api.dialect

    @cached_property
    def pods_by_node(self) -> PodsByNode:
        return PodsByNode(self.api)

    def client(self, name: str) -> Client:
        """The API as the user of a controller, who has the role of this name."""
        user = controller_user(self.dialect, name, privileged=self.privileged)
        return Client(self.api, user)

    def manager(self) -> Client:
        """The API as the user of the controllers that have no role of their own."""
        return Client(self.api, manager_user(self.dialect, privileged=self.privileged))

    def recorder(self, client: Client, component: str) -> Recorder:
        return Recorder(self.events, client, component)


Build = Callable[[Surroundings], Controller]


def _namespace(given: Surroundings) -> Controller:
    return NamespaceDeletion(given.api, given.client("namespace-controller"))


def _quota(given: Surroundings) -> Controller:
    return ResourceQuotas(given.api, given.client("resourcequota-controller"))


def _claim_protection(given: Surroundings) -> Controller:
    return ClaimProtection(given.client("pvc-protection-controller"), given.dialect)


def _volume_protection(given: Surroundings) -> Controller:
    return VolumeProtection(given.client("pv-protection-controller"), given.dialect)


def _root_ca(given: Surroundings) -> Controller:
    return RootCaPublisher(given.client("root-ca-cert-publisher"), given.dialect, given.ca)


def _accounts(given: Surroundings) -> Controller:
    return DefaultServiceAccounts(given.client("service-account-controller"))


def _account_tokens(given: Surroundings) -> Controller:
    issuer = given.api.authentication.issuer
    return TokenSecrets(given.manager(), given.dialect, issuer, given.ca)


def _token_cleaner(given: Surroundings) -> Controller:
    return TokenCleaner(given.client("token-cleaner"), given.dialect)


def _finished_jobs(given: Surroundings) -> Controller:
    return FinishedJobs(given.client("ttl-after-finished-controller"))


def _pod_collection(given: Surroundings) -> Controller:
    return PodCollection(
        given.client("pod-garbage-collector"),
        given.dialect,
        given.api.gates,
        given.pods_by_node,
        given.options.terminated_pod_gc_threshold,
    )


def _node_ttl(given: Surroundings) -> Controller:
    return NodeTtl(given.client("ttl-controller"), given.dialect)


def _node_lifecycle(given: Surroundings) -> Controller:
    client, flags = given.client("node-controller"), given.options
    patience = Patience(
        flags.node_monitor_grace_period, flags.node_startup_grace_period, flags.node_monitor_period
    )
    rates = Rates(
        flags.node_eviction_rate,
        flags.secondary_node_eviction_rate,
        flags.unhealthy_zone_threshold,
        flags.large_cluster_size_threshold,
    )
    recorder = given.recorder(client, "node-controller")
    return NodeLifecycle(client, recorder, given.dialect, given.pods_by_node, patience, rates)


def _taint_eviction(given: Surroundings) -> Controller:
    client, told = given.client("node-controller"), given.api.gates["PodDisruptionConditions"]
    recorder = given.recorder(client, "taint-controller")
    return TaintEviction(client, recorder, given.pods_by_node, conditions=told)


_BUILDERS: dict[str, Build] = {
    "namespace": _namespace,
    "nodelifecycle": _node_lifecycle,
    "podgc": _pod_collection,
    "pv-protection": _volume_protection,
    "pvc-protection": _claim_protection,
    "resourcequota": _quota,
    "root-ca-cert-publisher": _root_ca,
    "serviceaccount": _accounts,
    "serviceaccount-token": _account_tokens,
    "tokencleaner": _token_cleaner,
    "ttl": _node_ttl,
    "ttl-after-finished": _finished_jobs,
}
# What runs beside a controller under the same name.
_COMPANIONS: dict[str, Build] = {"nodelifecycle": _taint_eviction}


def build_controllers(given: Surroundings, running: frozenset[str]) -> Sequence[Controller]:
    """The controllers of these names."""
    builders = (*_BUILDERS.items(), *_COMPANIONS.items())
    return [build(given) for name, build in builders if name in running]
