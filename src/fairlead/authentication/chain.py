"""The authentication chain: the first method that knows the credential ends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from fairlead.authentication.user import AUTHENTICATED, User
from fairlead.errors import unauthorized


class Credentials(Protocol):
    """What methods may look at of a request."""

    scope: Any

    def header(self, name: bytes) -> str: ...


class Method(Protocol):
    """One way to authenticate: a user, or None when the request carries nothing for it.
    A credential that is meant for it and is wrong raises a 401."""

    async def authenticate(self, request: Credentials) -> User | None: ...


class Authenticator:
    def __init__(self, methods: Sequence[Method]) -> None:
        self._methods = tuple(methods)

    async def authenticate(self, request: Credentials) -> User:
        for method in self._methods:
            user = await method.authenticate(request)
            if user is not None:
                return user
        raise unauthorized()


def with_authenticated_group(user: User) -> User:
    if AUTHENTICATED in user.groups:
        return user
    return User(user.name, user.uid, (*user.groups, AUTHENTICATED), user.extra)
