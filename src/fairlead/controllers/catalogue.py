"""All controllers, by their names in `--controllers`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from fairlead.admission.plugins.resource_quota import QUOTAS
from fairlead.controllers import (
    bootstrap_signer,
    legacy_tokens,
    policy_status,
    resource_quotas,
    service_ranges,
)
from fairlead.controllers.certificates.catalogue import BUILDERS as CERTIFICATES
from fairlead.controllers.dependencies import Build, Dependencies, LazyBuild, built
from fairlead.controllers.devices import claims, taint_eviction
from fairlead.controllers.disruption import controller as disruption
from fairlead.controllers.framework import Controller, LazyController, Reconciler
from fairlead.controllers.garbage import GarbageCollector
from fairlead.controllers.namespace_deletion import NamespaceDeletion
from fairlead.controllers.nodes.catalogue import BUILDERS as NODES
from fairlead.controllers.nodes.catalogue import COMPANIONS
from fairlead.controllers.root_ca import RootCaPublisher
from fairlead.controllers.service_accounts import DefaultServiceAccounts
from fairlead.controllers.service_endpoints.catalogue import BUILDERS as ENDPOINTS
from fairlead.controllers.token_secrets import TokenSecrets
from fairlead.controllers.volumes.catalogue import BUILDERS as VOLUMES
from fairlead.controllers.workloads.catalogue import BUILDERS as WORKLOADS
from fairlead.operations.client import Client, own_client
from fairlead.operations.eviction import BUDGETS
from fairlead.resources.core.services.claims import SERVICE_RANGES


def _bootstrap_signer(dependencies: Dependencies) -> Controller:
    server, signer = own_client(dependencies.api), dependencies.client("bootstrap-signer")
    return bootstrap_signer.BootstrapSigner(
        server, signer, dependencies.dialect, dependencies.address, dependencies.root_ca
    )


def _garbage(dependencies: Dependencies) -> Controller:
    client = dependencies.client("generic-garbage-collector")
    recorder = dependencies.recorder(client, GarbageCollector.name)
    return GarbageCollector(dependencies.api, client, recorder, dependencies.remote)


def _namespace(dependencies: Dependencies) -> Controller:
    name = NamespaceDeletion.name
    empty_remote = partial(dependencies.remote.empty, dependencies.user(name))
    return NamespaceDeletion(dependencies.api, dependencies.client(name), empty_remote)


def _quota(dependencies: Dependencies) -> Reconciler:
    return resource_quotas.ResourceQuotas(
        dependencies.api, dependencies.client("resourcequota-controller")
    )


def _root_ca(dependencies: Dependencies) -> Controller:
    return RootCaPublisher(
        dependencies.client("root-ca-cert-publisher"), dependencies.dialect, dependencies.root_ca
    )


def _resource_claims(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("resource-claim-controller")
    recorder = dependencies.recorder(client, "resource_claim")
    return claims.ResourceClaims(dependencies.api, client, recorder, dependencies.dialect)


def _device_taint_eviction(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("device-taint-eviction-controller")
    recorder = dependencies.recorder(client, "device-taint-eviction-controller")
    return taint_eviction.DeviceTaintEviction(client, recorder)


def _service_ranges(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("service-cidrs-controller")
    return service_ranges.ServiceRanges(client, dependencies.dialect)


def _accounts(dependencies: Dependencies) -> Controller:
    return DefaultServiceAccounts(dependencies.client("service-account-controller"))


def _account_tokens(dependencies: Dependencies) -> Controller:
    issuer = dependencies.api.authentication.issuer
    return TokenSecrets(dependencies.manager(), dependencies.dialect, issuer, dependencies.root_ca)


def _token_cleaner(dependencies: Dependencies) -> Controller:
    return bootstrap_signer.TokenCleaner(dependencies.client("token-cleaner"), dependencies.dialect)


def _legacy_token_cleaner(dependencies: Dependencies) -> Controller:
    client = dependencies.client("legacy-service-account-token-cleaner")
    return legacy_tokens.LegacyTokenCleaner(client, dependencies.dialect)


def _policy_status(dependencies: Dependencies) -> Reconciler:
    user = dependencies.user("validatingadmissionpolicy-status-controller")
    client = Client(dependencies.api, user, "validatingadmissionpolicy-status")
    return policy_status.PolicyStatus(client, dependencies.api.resources)


def _disruption(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("disruption-controller")
    return disruption.Disruption(
        dependencies.api, client, dependencies.recorder(client, "controllermanager")
    )


LEGACY_TOKEN_CLEANER = "legacy-serviceaccount-token-cleaner-controller"
_POLICIES = "admissionregistration/v1/validatingadmissionpolicies"
_BUILDERS: dict[str, Build | LazyBuild] = {
    **CERTIFICATES,
    **ENDPOINTS,
    **NODES,
    **VOLUMES,
    **WORKLOADS,
    "bootstrapsigner": _bootstrap_signer,
    "device-taint-eviction-controller": LazyBuild(
        "device-taint-eviction-controller", ("resource/v1/resourceslices",), _device_taint_eviction
    ),
    "disruption": LazyBuild("disruption-controller", (BUDGETS,), _disruption),
    "garbagecollector": _garbage,
    LEGACY_TOKEN_CLEANER: _legacy_token_cleaner,
    "namespace": _namespace,
    "resourceclaim-controller": LazyBuild(
        "resourceclaim-controller",
        ("resource/v1/resourceclaims", "resource/v1/resourceclaimtemplates"),
        _resource_claims,
    ),
    "resourcequota": LazyBuild("resourcequota-controller", (QUOTAS,), _quota),
    "root-ca-cert-publisher": _root_ca,
    "service-cidr-controller": LazyBuild(
        "service-cidr-controller", (SERVICE_RANGES,), _service_ranges
    ),
    "serviceaccount": _accounts,
    "serviceaccount-token": _account_tokens,
    "tokencleaner": _token_cleaner,
    "validatingadmissionpolicy-status": LazyBuild(
        "validatingadmissionpolicy-status-controller", (_POLICIES,), _policy_status
    ),
}


# Controllers that do not run while their gate is off.
_GATES = {
    LEGACY_TOKEN_CLEANER: "LegacyServiceAccountTokenTracking",
    "device-taint-eviction-controller": "DRADeviceTaints",
}


def build_controllers(
    dependencies: Dependencies, running: frozenset[str]
) -> Sequence[Controller | LazyController]:
    """Build the named controllers, without those whose resources the server does not have. Raises
    SigningFlagError."""
    builders = (*_BUILDERS.items(), *COMPANIONS.items())
    serves = dependencies.api.resources.serves
    gates = dependencies.api.gates
    running -= {name for name, gate in _GATES.items() if not gates[gate]}
    return [
        built(build, dependencies)
        for name, build in builders
        if name in running
        if not isinstance(build, LazyBuild) or any(map(serves, build.woken_by))
    ]


# `--controllers`: the selection of controllers to run.

# Known names without a controller here.
_WITHOUT_EFFECT = frozenset(
    {"attachdetach", "cloud-node-lifecycle", "nodeipam", "route", "service"}
)
_AGGREGATION = "clusterrole-aggregation"  # built by process/controllers.py
_NAMES = frozenset({*_BUILDERS, *_WITHOUT_EFFECT, _AGGREGATION})
_OFF_BY_DEFAULT = frozenset({"bootstrapsigner", "tokencleaner"})
DEFAULT_CONTROLLERS = "*"


class ControllerNameError(ValueError):
    """`--controllers` has an unknown name."""


class ControllerSelection(NamedTuple):
    """`running` are names of the catalogue; `without_effect` are the parts of the flag that name a
    controller this release does not have."""

    running: frozenset[str]
    without_effect: tuple[str, ...]


def parse_controllers(text: str) -> ControllerSelection:
    """Parse the flag; raises ControllerNameError. If a name occurs twice the first one wins."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    switches: dict[str, bool] = {}
    for part in parts or DEFAULT_CONTROLLERS.split(","):
        name = part.removeprefix("-")
        if name not in _NAMES and name != "*":
            names = ", ".join(sorted(_NAMES))
            raise ControllerNameError(f'unknown controller "{name}"; known are {names}')
        switches.setdefault(name, part[:1] != "-")
    rest = switches.get("*", False)
    running = (
        name
        for name in _NAMES - _WITHOUT_EFFECT
        if switches.get(name, rest and name not in _OFF_BY_DEFAULT)
    )
    without_effect = (part for part in parts if part.removeprefix("-") in _WITHOUT_EFFECT)
    return ControllerSelection(frozenset(running), tuple(without_effect))
