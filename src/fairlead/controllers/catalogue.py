"""The controllers, by the names that `--controllers` knows them by."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairlead.controllers.events import EventWriter, Recorder
from fairlead.controllers.framework import Controller, controller_user, manager_user
from fairlead.controllers.garbage import GarbageCollector
from fairlead.controllers.namespace_deletion import NamespaceDeletion
from fairlead.controllers.resource_quotas import ResourceQuotas
from fairlead.controllers.root_ca import RootCaPublisher
from fairlead.controllers.service_accounts import DefaultServiceAccounts
from fairlead.controllers.storage_protection import ClaimProtection, VolumeProtection
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


def _garbage(given: Surroundings) -> Controller:
    client = given.client("generic-garbage-collector")
    recorder = given.recorder(client, GarbageCollector.name)
    return GarbageCollector(given.api, client, recorder)


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


_BUILDERS: dict[str, Build] = {
    "garbagecollector": _garbage,
    "namespace": _namespace,
    "pv-protection": _volume_protection,
    "pvc-protection": _claim_protection,
    "resourcequota": _quota,
    "root-ca-cert-publisher": _root_ca,
    "serviceaccount": _accounts,
    "serviceaccount-token": _account_tokens,
    "tokencleaner": _token_cleaner,
}


def build_controllers(given: Surroundings, running: frozenset[str]) -> Sequence[Controller]:
    """The controllers of these names."""
    return [build(given) for name, build in _BUILDERS.items() if name in running]
