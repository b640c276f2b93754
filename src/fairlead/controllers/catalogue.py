"""The controllers, by the names that `--controllers` knows them by."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path

from fairlead.controllers.bootstrap_signer import BootstrapSigner
from fairlead.controllers.certificates.approving import Approving
from fairlead.controllers.certificates.cleaning import Cleaning
from fairlead.controllers.certificates.flags import signing_authorities
from fairlead.controllers.certificates.signing import Signing
from fairlead.controllers.events import EventWriter, Recorder
from fairlead.controllers.framework import Controller, controller_user, manager_user
from fairlead.controllers.namespace_deletion import NamespaceDeletion
from fairlead.controllers.resource_quotas import ResourceQuotas
from fairlead.controllers.root_ca import RootCaPublisher
from fairlead.controllers.service_accounts import DefaultServiceAccounts
from fairlead.controllers.storage_protection import ClaimProtection, VolumeProtection
from fairlead.controllers.token_cleaner import TokenCleaner
from fairlead.controllers.token_secrets import TokenSecrets
from fairlead.controllers.volumes.binder import VolumeBinder
from fairlead.controllers.volumes.ephemeral import EphemeralClaims
from fairlead.controllers.volumes.expander import VolumeExpander
from fairlead.controllers.workloads.deployments.controller import Deployments
from fairlead.controllers.workloads.index import Owned
from fairlead.controllers.workloads.pods import PODS, Pod, read_pod
from fairlead.controllers.workloads.replicas import REPLICA_SETS, REPLICATION_CONTROLLERS, Replicas
from fairlead.dialect import Dialect
from fairlead.operations.api import Api
from fairlead.operations.client import Client, system_user


@dataclass(frozen=True)
class Surroundings:
    """What controllers are built from. `privileged`: roles decide nothing on this server, so that
    the controllers' users must be allowed everything. `ca` is the certificate of its authority,
    `ca_key` the key; `address` is where clients reach it."""

    api: Api
    options: argparse.Namespace
    ca: Path
    ca_key: Path
    address: str
    privileged: bool
    events: EventWriter = field(default_factory=EventWriter)

    @property
    def dialect(self) -> Dialect:
        return self.api.dialect

    def client(self, name: str) -> Client:
        """The API as the user of a controller, who has the role of this name."""
        user = controller_user(self.dialect, name, privileged=self.privileged)
        return Client(self.api, user)

    def manager(self) -> Client:
        """The API as the user of the controllers that have no role of their own."""
        return Client(self.api, manager_user(self.dialect, privileged=self.privileged))

    def recorder(self, client: Client, component: str) -> Recorder:
        return Recorder(self.events, client, component)

    @cached_property
    def pods(self) -> Owned[Pod]:
        """The pods by their controller, for all that make pods."""
        return Owned(self.api.collection(self.api.resources.named(PODS)), read_pod)


Build = Callable[[Surroundings], Controller]


def _bootstrap_signer(given: Surroundings) -> Controller:
    server = Client(given.api, system_user("apiserver"))
    signer = given.client("bootstrap-signer")
    return BootstrapSigner(server, signer, given.dialect, given.address, given.ca)


def _approving(given: Surroundings) -> Controller:
    client = given.client("certificate-controller")
    return Approving(client, given.dialect, given.api.allowed)


def _cleaning(given: Surroundings) -> Controller:
    return Cleaning(given.client("certificate-controller"), given.dialect)


def _signing(given: Surroundings) -> Controller:
    own = given.ca, given.ca_key
    authorities = signing_authorities(given.options, given.dialect, own)
    lifetime = timedelta(seconds=given.options.cluster_signing_duration)
    return Signing(given.client("certificate-controller"), given.dialect, authorities, lifetime)


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


def _volume_binder(given: Surroundings) -> Controller:
    client = given.client("persistent-volume-binder")
    recorder = given.recorder(client, "persistentvolume-controller")
    return VolumeBinder(given.api, client, recorder)


def _volume_expander(given: Surroundings) -> Controller:
    client = given.client("expand-controller")
    return VolumeExpander(given.api, client, given.recorder(client, "volume_expand"))


def _ephemeral_claims(given: Surroundings) -> Controller:
    client = given.client("ephemeral-volume-controller")
    return EphemeralClaims(given.api, client, given.recorder(client, "ephemeral_volume"))


def _replica_sets(given: Surroundings) -> Controller:
    return _replicas(given, REPLICA_SETS, "replicaset-controller")


def _replication_controllers(given: Surroundings) -> Controller:
    return _replicas(given, REPLICATION_CONTROLLERS, "replication-controller")


def _replicas(given: Surroundings, resource: str, name: str) -> Controller:
    client = given.client(name)
    return Replicas(resource, given.api, client, given.recorder(client, name), given.pods)


def _deployments(given: Surroundings) -> Controller:
    client = given.client("deployment-controller")
    events = given.recorder(client, "deployment-controller")
    return Deployments(given.api, client, events, given.pods)


_BUILDERS: dict[str, Build] = {
    "bootstrapsigner": _bootstrap_signer,
    "csrapproving": _approving,
    "csrcleaner": _cleaning,
    "csrsigning": _signing,
    "ephemeral-volume": _ephemeral_claims,
    "deployment": _deployments,
    "namespace": _namespace,
    "persistentvolume-binder": _volume_binder,
    "persistentvolume-expander": _volume_expander,
    "pv-protection": _volume_protection,
    "pvc-protection": _claim_protection,
    "replicaset": _replica_sets,
    "replicationcontroller": _replication_controllers,
    "resourcequota": _quota,
    "root-ca-cert-publisher": _root_ca,
    "serviceaccount": _accounts,
    "serviceaccount-token": _account_tokens,
    "tokencleaner": _token_cleaner,
}


def build_controllers(given: Surroundings, running: frozenset[str]) -> Sequence[Controller]:
    """The controllers of these names. Raises SigningFlagError."""
    return [build(given) for name, build in _BUILDERS.items() if name in running]
