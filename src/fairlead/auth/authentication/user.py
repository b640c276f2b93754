"""The user that authentication attaches to a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairlead.base.dialect import Dialect
from fairlead.codec.types.names import dns_label, dns_subdomain

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"
ANONYMOUS_NAME = "system:anonymous"
SERVER_NAME = "system:apiserver"


@dataclass(frozen=True, slots=True)
class User:
    """A user. Authorizers interpret it; `groups` keeps its order."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)


ANONYMOUS = User(ANONYMOUS_NAME, "", (UNAUTHENTICATED,))


def user_bytes(user: User) -> int:
    """The size of a user for cache limits."""
    extra = (len(key) + sum(map(len, values)) for key, values in user.extra.items())
    return len(user.name) + len(user.uid) + sum(map(len, user.groups)) + sum(extra)


def is_server(user: User) -> bool:
    """Whether the user is the server itself, which writes during startup."""
    return user.name == SERVER_NAME and MASTERS in user.groups


def with_authenticated_group(user: User) -> User:
    """Add the group of all authenticated users."""
    if AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return User(user.name, user.uid, (*user.groups, AUTHENTICATED), user.extra)


def credential_extra(dialect: Dialect) -> str:
    """The extra field with the id of the credential: of a token or of a certificate."""
    return dialect.label("authentication.@/credential-id")


# The user names and groups of service accounts.

_PREFIX = "system:serviceaccount:"
_GROUP = "system:serviceaccounts"


def account_user_name(namespace: str, name: str) -> str:
    return f"{_PREFIX}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    return (_GROUP, f"{_GROUP}:{namespace}")


def split_account_name(user_name: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user; None for other users."""
    if not user_name.startswith(_PREFIX):
        return None
    parts = user_name[len(_PREFIX) :].split(":")
    if len(parts) != 2 or dns_label(parts[0]) or dns_subdomain(parts[1]):
        return None
    return parts[0], parts[1]


def tenant_of(user: User) -> str:
    """The owner that threads and memory are accounted to: a user, or all service accounts of a
    namespace."""
    name = user.name
    return name.rpartition(":")[0] if name.startswith("system:serviceaccount:") else name
