"""The controllers of certificates. Each is loaded lazily, when the first request exists."""

from __future__ import annotations

from datetime import timedelta

from fairlead.controllers.certificates import approval, cleaner, signer
from fairlead.controllers.certificates.flags import signing_authorities
from fairlead.controllers.dependencies import Build, Dependencies, LazyBuild
from fairlead.controllers.framework import LazyController, Reconciler

_WOKEN_BY = ("certificates/v1/certificatesigningrequests",)


def _approving(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("certificate-controller")
    return approval.CertificateApprover(client, dependencies.dialect, dependencies.api.allowed)


def _cleaning(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("certificate-controller")
    return cleaner.CertificateCleaner(client, dependencies.dialect)


def _signing(dependencies: Dependencies) -> LazyController:
    """Load the files that the flags name now, so that faults in them stop the start."""
    own = dependencies.ca, dependencies.ca_key
    authorities = signing_authorities(dependencies.options, dependencies.dialect, own)
    lifetime = timedelta(seconds=dependencies.options.cluster_signing_duration)
    client = dependencies.client("certificate-controller")

    def build() -> Reconciler:
        return signer.CertificateSigner(client, dependencies.dialect, authorities, lifetime)

    return LazyController("csrsigning", _WOKEN_BY, build)


BUILDERS: dict[str, Build | LazyBuild] = {
    "csrapproving": LazyBuild("csrapproving", _WOKEN_BY, _approving),
    "csrcleaner": LazyBuild("csrcleaner", _WOKEN_BY, _cleaning),
    "csrsigning": _signing,
}
