"""Client certificates: the subject's common name is the user, its organizations are the groups."""

from __future__ import annotations

from fairlead.auth.authentication.authorities import Authorities, Subject, Untrusted
from fairlead.auth.authentication.chain import Credentials, Rejected
from fairlead.auth.authentication.user import User, with_authenticated_group


class ClientCertificates:
    def __init__(self, authorities: Authorities) -> None:
        self._authorities = authorities
        self._users: dict[Subject, User] = {}

    def authenticate(self, request: Credentials) -> User | None:
        peer = request.peer
        if not peer.certificates:
            return None
        if peer.problem:
            raise Rejected(f"x509: {peer.problem}")
        try:
            subject = self._authorities.subject(peer.certificates)
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
