"""Client certificates: the subject's common name is the user, its organizations the groups."""

from __future__ import annotations

from fairlead.authentication.chain import Credentials, with_authenticated_group
from fairlead.authentication.user import User


class ClientCertificates:
    """Reads the certificate that the TLS layer verified; the protocol puts its subject into the
    scope once a connection."""

    async def authenticate(self, request: Credentials) -> User | None:
        tls = request.scope.get("extensions", {}).get("tls")
        if tls is None or tls.get("subject") is None:
            return None
        user = tls.get("user")
        if user is None:
            user = tls["user"] = _user(tls["subject"])
        return user if user.name else None


def _user(subject: list[tuple[str, str]]) -> User:
    name = next((value for key, value in subject if key == "commonName"), "")
    groups = tuple(value for key, value in subject if key == "organizationName")
    return with_authenticated_group(User(name, "", groups))
