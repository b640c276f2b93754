"""Impersonation: acting as another user through request headers, if authorized."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from fairlead.auth.authentication.user import (
    ANONYMOUS_NAME,
    AUTHENTICATED,
    UNAUTHENTICATED,
    User,
    account_groups,
    split_account_name,
)
from fairlead.base.dialect import Dialect
from fairlead.base.errors import bad_request

RawHeaders = Iterable[tuple[bytes, bytes]]
Header = tuple[bytes, bytes]

_PREFIX = b"impersonate-"
_USER, _GROUP, _UID = b"impersonate-user", b"impersonate-group", b"impersonate-uid"
_EXTRA = b"impersonate-extra-"
_HEX = b"0123456789abcdefABCDEF"


# Authorizes the caller: verb, group, resource, subresource, namespace, name. Raises a 403
# StatusError.
Authorize = Callable[[str, str, str, str, str, str], Awaitable[None]]


class Impersonation(NamedTuple):
    """The origin of a credential that was created by impersonation: it is valid only while the
    impersonator is authorized."""

    impersonator: User
    headers: tuple[Header, ...]


class _ImpersonationRequest(NamedTuple):
    """One impersonation permission to check."""

    group: str
    resource: str
    name: str
    subresource: str = ""
    namespace: str = ""


def asks_to_impersonate(headers: RawHeaders) -> bool:
    """Whether any header is about impersonation; a cheap check for every request."""
    for name, _ in headers:  # noqa: SIM110 a generator would cost twice as much
        if name.startswith(_PREFIX):
            return True
    return False


def impersonation_headers(headers: RawHeaders) -> tuple[Header, ...]:
    return tuple(field for field in headers if field[0].startswith(_PREFIX))


async def impersonate(
    dialect: Dialect, headers: RawHeaders, user: User, authorize: Authorize
) -> User:
    """The user that a request impersonates, or the caller itself if it has no such headers.

    Raises a 400 StatusError for headers without a user or with invalid text; `authorize` raises if
    the caller lacks permission. The chain keeps the caller's own user for audit.
    """
    read = ImpersonationHeaders(headers)
    if not read.any:
        return user
    if not read.user:
        raise bad_request("impersonation of groups, extra fields or a UID needs Impersonate-User")
    account = split_account_name(read.user)
    for permission in _required_permissions(dialect, read, account):
        await authorize(
            "impersonate",
            permission.group,
            permission.resource,
            permission.subresource,
            permission.namespace,
            permission.name,
        )
    groups = tuple(read.groups)
    if account is not None and not groups:
        groups = account_groups(account[0])
    extra = {name: tuple(values) for name, values in read.extra.items()}
    return User(read.user, read.uid, with_implied_group(read.user, groups), extra)


class ImpersonationHeaders:
    """The parsed impersonation headers of a request; `any` is False without such headers."""

    def __init__(self, headers: RawHeaders) -> None:
        self.user = self.uid = ""
        self.groups: list[str] = []
        self.extra: dict[str, list[str]] = {}
        seen: set[bytes] = set()
        for raw_name, raw_value in headers:
            name = raw_name.lower()
            if name == _GROUP:
                self.groups.append(_text(raw_value))
            elif name.startswith(_EXTRA):
                key = _extra_name(name[len(_EXTRA) :])
                self.extra.setdefault(key, []).append(_text(raw_value))
            elif name == _USER and name not in seen:
                self.user = _text(raw_value)
            elif name == _UID and name not in seen:
                self.uid = _text(raw_value)
            seen.add(name)
        self.any = bool(self.user or self.uid or self.groups or self.extra)


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise bad_request("an impersonation header is not UTF-8 text") from None


def _extra_name(raw: bytes) -> str:
    """The name of an extra field: lower case, percent-decoded once; left as is if it is not valid
    percent encoding."""
    raw = raw.lower()
    steps = raw.split(b"%")[1:]
    encoded = all(len(step) > 1 and step[0] in _HEX and step[1] in _HEX for step in steps)
    return _text(unquote_to_bytes(raw) if encoded else raw)


def _required_permissions(
    dialect: Dialect, read: ImpersonationHeaders, account: tuple[str, str] | None
) -> Iterable[_ImpersonationRequest]:
    own = dialect.group_name("authentication.@")
    if account is not None:
        namespace = "" if dialect.impersonation_cluster_wide else account[0]
        yield _ImpersonationRequest("", "serviceaccounts", account[1], namespace=namespace)
    else:
        yield _ImpersonationRequest("", "users", read.user)
    for group in read.groups:
        yield _ImpersonationRequest("", "groups", group)
    for key, values in read.extra.items():
        for value in values:
            yield _ImpersonationRequest(own, "userextras", value, key)
    if read.uid:
        yield _ImpersonationRequest(own, "uids", read.uid)


def with_implied_group(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Add the group for authenticated or unauthenticated users."""
    if name == ANONYMOUS_NAME:
        return groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, AUTHENTICATED)
