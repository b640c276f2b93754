"""The controllers of certificates."""

from __future__ import annotations

from datetime import timedelta

from fairlead.controllers.certificates.approval import Approving
from fairlead.controllers.certificates.cleaner import Cleaning
from fairlead.controllers.certificates.flags import signing_authorities
from fairlead.controllers.certificates.signer import Signing
from fairlead.controllers.dependencies import Build, Surroundings
from fairlead.controllers.framework import Controller


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


BUILDERS: dict[str, Build] = {
    "csrapproving": _approving,
    "csrcleaner": _cleaning,
    "csrsigning": _signing,
}
