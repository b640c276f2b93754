"""Kinds of the certificates group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.certificates.signing_requests import CertificateSigningRequestBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "certificates/v1/certificatesigningrequests": CertificateSigningRequestBehaviour,
}
