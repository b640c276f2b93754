"""The controllers of certificates."""

from __future__ import annotations

from datetime import timedelta

from fairlead.controllers.certificates.approval import CertificateApprover
from fairlead.controllers.certificates.cleaner import CertificateCleaner
from fairlead.controllers.certificates.flags import signing_authorities
from fairlead.controllers.certificates.signer import CertificateSigner
from fairlead.controllers.dependencies import Build, Dependencies
from fairlead.controllers.framework import Controller


def _approving(dependencies: Dependencies) -> Controller:
    client = dependencies.client("certificate-controller")
    return CertificateApprover(client, dependencies.dialect, dependencies.api.allowed)


def _cleaning(dependencies: Dependencies) -> Controller:
    return CertificateCleaner(dependencies.client("certificate-controller"), dependencies.dialect)


def _signing(dependencies: Dependencies) -> Controller:
    own = dependencies.ca, dependencies.ca_key
    authorities = signing_authorities(dependencies.options, dependencies.dialect, own)
    lifetime = timedelta(seconds=dependencies.options.cluster_signing_duration)
    return CertificateSigner(
        dependencies.client("certificate-controller"), dependencies.dialect, authorities, lifetime
    )


BUILDERS: dict[str, Build] = {
    "csrapproving": _approving,
    "csrcleaner": _cleaning,
    "csrsigning": _signing,
}
