"""Impersonation by modes, as later releases have it.

A mode is for one kind of user: the node of the caller's own pod, any node, a service account, any
other user. The caller needs the verb `impersonate:MODE` for the user and `impersonate-on:MODE:VERB`
for the request itself. The verb `impersonate` of earlier releases allows both, for every user.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

from fairlead.auth.authentication.impersonation import (
    ImpersonationHeaders,
    RawHeaders,
    with_implied_group,
)
from fairlead.auth.authentication.user import MASTERS, User, account_groups, split_account_name
from fairlead.auth.authorization.attributes import (
    Attributes,
    Decision,
    Refused,
    joined_errors,
    refusal,
)
from fairlead.base.caches import BoundedCache
from fairlead.base.dialect import Dialect
from fairlead.base.errors import bad_request
from fairlead.codec.types.names import dns_subdomain
from fairlead.resources.causes import LaterCauses, quote
from fairlead.resources.go_values import go_list_or_nil
from fairlead.resources.networking.shared import check_prefixed_path

_NODE_PREFIX, _NODES_GROUP = "system:node:", "system:nodes"
_ASSOCIATED, _ARBITRARY, _ACCOUNT, _OTHERS = (
    "associated-node",
    "arbitrary-node",
    "serviceaccount",
    "user-info",
)
_UNCONSTRAINED = ""  # the verb `impersonate`
_MODES = (_ASSOCIATED, _ARBITRARY, _ACCOUNT, _OTHERS, _UNCONSTRAINED)
_MIN_FOR_WILDCARD = 4  # with this many groups or extra values, `*` is tried before each of them
_MAX_CALLERS = 10_000
_MAX_CALLER_BYTES = 1024

Authorize = Callable[[Attributes], Awaitable[Decision]]


class ConstrainedImpersonation:
    """Authorizes impersonation. The mode that last succeeded for a caller is tried first, and its
    refusal is the one that the caller sees."""

    def __init__(self, dialect: Dialect, authorize: Authorize) -> None:
        self._own_group = dialect.group_name("authentication.@")
        self._node_extra = dialect.label("authentication.@/node-name")
        self._keys_extra = dialect.label("authentication.@/associated-node-keys")
        self._cluster_wide = dialect.impersonation_cluster_wide
        self._authorize = authorize
        self._last: BoundedCache[str, str] = BoundedCache(
            _MAX_CALLERS, _MAX_CALLERS * _MAX_CALLER_BYTES, _MAX_CALLER_BYTES
        )

    async def impersonate(self, headers: RawHeaders, request: Attributes) -> tuple[User, str]:
        """The user that a request impersonates, or the caller itself; and the verb of the mode that
        allows it, empty for the verb of earlier releases. `request.user` is the caller. Raises
        Refused, and a 400 StatusError for headers without a user."""
        target = ImpersonationHeaders(headers)
        if not target.any:
            return request.user, ""
        if not target.user:
            raise bad_request(f"requested {_shown(target)} without impersonating a user name")
        caller = request.user
        last = self._last.get(caller.name)
        refused: Refused | None = None
        for mode in _MODES if last is None else (last, *(m for m in _MODES if m != last)):
            if not self._applies(mode, target, caller):
                continue
            try:
                user = await self._check(mode, target, request)
            except Refused as error:
                refused = refused or error.with_traceback(None)
                continue
            if mode != last:
                self._last.keep(caller.name, mode, len(caller.name))
            return user, _verb(mode) if mode != _UNCONSTRAINED else ""
        assert refused is not None  # the plain mode applies to every user
        raise refused

    def _applies(self, mode: str, target: ImpersonationHeaders, caller: User) -> bool:
        node, is_account = _node_of(target.user), split_account_name(target.user) is not None
        has_name_only = not (target.uid or target.groups or target.extra)
        match mode:
            case "associated-node":
                own = caller.extra.get(self._node_extra, ())
                is_own = split_account_name(caller.name) is not None and own == (node,)
                return has_name_only and node is not None and is_own
            case "arbitrary-node":
                return has_name_only and node is not None
            case "serviceaccount":
                return has_name_only and is_account
            case "user-info":
                return node is None and not is_account
        return True

    async def _check(self, mode: str, target: ImpersonationHeaders, request: Attributes) -> User:
        """The impersonated user; raises Refused."""
        if mode == _ASSOCIATED:
            request = request._replace(user=self._without_extra(request.user))
        if mode != _UNCONSTRAINED:
            await self._require(request._replace(verb=f"impersonate-on:{mode}:{request.verb}"))
        node = _node_of(target.user) if mode != _UNCONSTRAINED else None
        account = split_account_name(target.user)
        for right in self._required_rights(mode, target, request.user):
            await self._require(right)
        await self._check_groups(mode, target, request.user)
        await self._check_extra(mode, target, request.user)
        groups = tuple(target.groups)
        if node is not None:
            groups = (_NODES_GROUP,)
        elif account is not None and not groups:
            groups = account_groups(account[0])
        extra = {name: tuple(values) for name, values in target.extra.items()}
        return User(target.user, target.uid, with_implied_group(target.user, groups), extra)

    def _required_rights(
        self, mode: str, target: ImpersonationHeaders, caller: User
    ) -> Iterator[Attributes]:
        """The rights to impersonate the name and the uid."""
        node = _node_of(target.user) if mode != _UNCONSTRAINED else None
        account = split_account_name(target.user)
        group = "" if mode == _UNCONSTRAINED else self._own_group
        if node is not None:
            name = "*" if mode == _ASSOCIATED else node
            yield self._right(mode, caller, group, "nodes", name)
        elif account is not None:
            namespace = "" if mode == _UNCONSTRAINED and self._cluster_wide else account[0]
            right = self._right(mode, caller, group, "serviceaccounts", account[1])
            yield right._replace(namespace=namespace)
        else:
            yield self._right(mode, caller, group, "users", target.user)
        if target.uid:
            yield self._right(mode, caller, self._own_group, "uids", target.uid)

    async def _check_groups(self, mode: str, target: ImpersonationHeaders, caller: User) -> None:
        group = "" if mode == _UNCONSTRAINED else self._own_group
        right = self._right(mode, caller, group, "groups", "")
        if mode != _UNCONSTRAINED:
            if "" in target.groups:
                raise _refusal(right, "impersonating the empty string group is not allowed")
            if MASTERS in target.groups:
                text = f"impersonating the {MASTERS} group is not allowed"
                raise _refusal(right._replace(name=MASTERS), text)
            if len(target.groups) >= _MIN_FOR_WILDCARD and await self._allows(
                right._replace(name="*")
            ):
                return
        for name in target.groups:
            await self._require(right._replace(name=name))

    async def _check_extra(self, mode: str, target: ImpersonationHeaders, caller: User) -> None:
        right = self._right(mode, caller, self._own_group, "userextras", "")
        pairs = [(key, value) for key, values in target.extra.items() for value in values]
        if mode != _UNCONSTRAINED and pairs:
            if problem := _extra_problem(target.extra):
                raise _refusal(right, problem)
            everything = right._replace(subresource="*", name="*")
            if len(pairs) >= _MIN_FOR_WILDCARD and await self._allows(everything):
                return
        for key, value in pairs:
            await self._require(right._replace(subresource=key, name=value))

    def _right(self, mode: str, caller: User, group: str, resource: str, name: str) -> Attributes:
        return Attributes(caller, _verb(mode), group, "v1", resource, name=name)

    async def _allows(self, attributes: Attributes) -> bool:
        return (await self._authorize(attributes)).allowed

    async def _require(self, attributes: Attributes) -> None:
        decision = await self._authorize(attributes)
        if not decision.allowed:
            raise refusal(attributes, decision)

    def _without_extra(self, user: User) -> User:
        """Replace the extra fields of a service account by their names, so that one right covers
        all of its pods."""
        extra = {self._keys_extra: tuple(sorted(user.extra))}
        return User(user.name, user.uid, user.groups, extra)


def _verb(mode: str) -> str:
    return f"impersonate:{mode}" if mode != _UNCONSTRAINED else "impersonate"


def _node_of(user_name: str) -> str | None:
    """The node that a user name belongs to; None for other users."""
    name = user_name.removeprefix(_NODE_PREFIX)
    return name if user_name.startswith(_NODE_PREFIX) and not dns_subdomain(name) else None


def _refusal(attributes: Attributes, reason: str) -> Refused:
    return refusal(attributes, Decision(reason=reason))


def _extra_problem(extra: dict[str, list[str]]) -> str:
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        causes = LaterCauses()
        check_prefixed_path(key, "extra.key", causes)
        if causes:
            problems = joined_errors([f"{cause.field}: {cause.message}" for cause in causes])
            return f"impersonating an invalid key in extra is not allowed: {problems}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _shown(target: ImpersonationHeaders) -> str:
    """The headers without a user, in the reference's notation."""
    extra = "map[string][]string(nil)"
    if target.extra:
        pairs = (
            f"{quote(key)}:{go_list_or_nil('string', target.extra[key])}"
            for key in sorted(target.extra)
        )
        extra = f"map[string][]string{{{', '.join(pairs)}}}"
    groups = go_list_or_nil("string", target.groups)
    return f'&user.DefaultInfo{{Name:"", UID:{quote(target.uid)}, Groups:{groups}, Extra:{extra}}}'
