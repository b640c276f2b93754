"""Kinds of the certificates group."""

_REQUESTS = "signing_requests.CertificateSigningRequestBehaviour"

BEHAVIOURS: dict[str, str] = {
    "certificates/v1/certificatesigningrequests": _REQUESTS,
}
