"""The controllers, by the names that `--controllers` knows them by."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fairlead.controllers.disruption.controller import Disruption
from fairlead.controllers.events import EventWriter, Recorder
from fairlead.controllers.framework import Controller, controller_user, manager_user
from fairlead.controllers.namespace_deletion import NamespaceDeletion
from fairlead.controllers.pod_members import PODS, PodMembers
from fairlead.controllers.resource_quotas import ResourceQuotas
from fairlead.controllers.root_ca import RootCaPublisher
from fairlead.controllers.service_accounts import DefaultServiceAccounts
from fairlead.controllers.service_endpoints.endpoints import EndpointsController
from fairlead.controllers.service_endpoints.mirroring import MirroringController
from fairlead.controllers.service_endpoints.pods import ServicePods, facts_of, selector_of
from fairlead.controllers.service_endpoints.slices import SlicesController
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

    @cached_property
    def service_pods(self) -> ServicePods:
        """Which pods are behind which services, for all who need to know."""
        pods = self.api.collection(self.api.resources.named(PODS))
        return PodMembers(pods, selector_of, facts_of)

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


def _disruption(given: Surroundings) -> Controller:
    client = given.client("disruption-controller")
    return Disruption(given.api, client, given.recorder(client, "controllermanager"))


def _endpoints(given: Surroundings) -> Controller:
    client = given.client("endpoint-controller")
    recorder = given.recorder(client, "endpoint-controller")
    return EndpointsController(given.api, client, given.service_pods, recorder)


def _slices(given: Surroundings) -> Controller:
    client = given.client("endpointslice-controller")
    recorder = given.recorder(client, "endpoint-slice-controller")
    return SlicesController(given.api, client, given.service_pods, recorder)


def _mirroring(given: Surroundings) -> Controller:
    client = given.client("endpointslicemirroring-controller")
    recorder = given.recorder(client, "endpoint-slice-mirroring-controller")
    return MirroringController(given.api, client, recorder)


_BUILDERS: dict[str, Build] = {
    "disruption": _disruption,
    "endpoint": _endpoints,
    "endpointslice": _slices,
    "endpointslicemirroring": _mirroring,
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
