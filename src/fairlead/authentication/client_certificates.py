"""Client certificates: the subject's common name is the user, its organizations the groups."""

from __future__ import annotations

from typing import Any

from fairlead.authentication.authorities import Authorities, Chain, Subject, Untrusted
from fairlead.authentication.chain import Credentials, Rejected
from fairlead.authentication.user import User, with_authenticated_group


def certificate_chain(scope: Any) -> Chain:
    """The certificates that the TLS layer got from the client, its own first; maybe none. The
    protocol puts them into the scope once a connection."""
    extensions = scope.get("extensions")
    tls = extensions.get("tls") if extensions else None
    chain: Chain = tls.get("certificates", ()) if tls else ()
    return chain


class ClientCertificates:
    def __init__(self, authorities: Authorities) -> None:
        self._authorities = authorities
        self._users: dict[Subject, User] = {}

    async def authenticate(self, request: Credentials) -> User | None:
        chain = certificate_chain(request.scope)
        if not chain:
            return None
        try:
            subject = self._authorities.subject(chain)
        except Untrusted as error:
            raise Rejected(f"x509: {error}") from None
        return self._user(subject) if subject.common_name else None

    def _user(self, subject: Subject) -> User:
        user = self._users.get(subject)
        if user is None:
            if len(self._users) >= 4096:
                self._users.clear()
            user = with_authenticated_group(User(subject.common_name, "", subject.organizations))
            self._users[subject] = user
        return user
