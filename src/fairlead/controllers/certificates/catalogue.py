"""The controllers of certificates."""

from __future__ import annotations

from datetime import timedelta

from fairlead.controllers.certificates.approval import Approving
from fairlead.controllers.certificates.cleaner import Cleaning
from fairlead.controllers.certificates.flags import signing_authorities
from fairlead.controllers.certificates.signer import Signing
from fairlead.controllers.dependencies import Build, Surroundings
from fairlead.controllers.framework import Controller


def _approving(dependencies: Surroundings) -> Controller:
    client = dependencies.client("certificate-controller")
    return Approving(client, dependencies.dialect, dependencies.api.allowed)


def _cleaning(dependencies: Surroundings) -> Controller:
    return Cleaning(dependencies.client("certificate-controller"), dependencies.dialect)


def _signing(dependencies: Surroundings) -> Controller:
    own = dependencies.ca, dependencies.ca_key
    authorities = signing_authorities(dependencies.options, dependencies.dialect, own)
    lifetime = timedelta(seconds=dependencies.options.cluster_signing_duration)
    return Signing(
        dependencies.client("certificate-controller"), dependencies.dialect, authorities, lifetime
    )


BUILDERS: dict[str, Build] = {
    "csrapproving": _approving,
    "csrcleaner": _cleaning,
    "csrsigning": _signing,
}
