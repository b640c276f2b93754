"""Service account tokens: signed by this server (or with another configured key), valid while the
account and the object they are bound to exist.

There are two kinds. A bound token has audiences, an expiry and maybe a Pod, Secret or Node it is
bound to. A legacy token is stored in a Secret, has neither, and is valid while that Secret holds
it.
"""

from __future__ import annotations

import hmac
from base64 import b64decode
from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple

from fairlead.auth.authentication.bearer import Anchor, Audiences, Grant, Remarks, common
from fairlead.auth.authentication.chain import Rejected
from fairlead.auth.authentication.keys import KeyRing
from fairlead.auth.authentication.tokens import (
    BadToken,
    Claims,
    audiences,
    seconds,
    unverified,
    verified_by_any,
)
from fairlead.auth.authentication.user import (
    User,
    account_groups,
    account_user_name,
    credential_extra,
    split_account_name,
    with_authenticated_group,
)
from fairlead.base.clock import time
from fairlead.base.dialect import Dialect
from fairlead.codec.types.model import Object as Object
from fairlead.resources.gates import Gates
from fairlead.resources.metadata import deletion_end

# Reads an object by internal resource name, namespace and name.
Lookup = Callable[[str, str, str], Object | None]

ACCOUNTS, SECRETS, PODS = "core/v1/serviceaccounts", "core/v1/secrets", "core/v1/pods"
NODES = "core/v1/nodes"
_SKEW = 60.0  # seconds by which another signer's clock may be ahead
_BAD_TOKEN = "a service account token is malformed, out of date or for another audience"
_GONE = "the service account of a token does not exist any more"
_INVALIDATED = "service account token has been invalidated"


class AccountClaims(NamedTuple):
    """The names of the private claims in a dialect."""

    bound: str
    legacy_issuer: str
    namespace: str
    secret_name: str
    account_name: str
    account_uid: str
    pod_name_extra: str
    pod_uid_extra: str
    node_name_extra: str
    node_uid_extra: str
    credential_extra: str
    issued_note: str
    stale_note: str
    legacy_note: str


def account_claims(dialect: Dialect) -> AccountClaims:
    def legacy(name: str) -> str:
        return dialect.label(f"@/serviceaccount/{name}")

    return AccountClaims(
        bound=dialect.label_domain,
        legacy_issuer=f"{dialect.own_service}/serviceaccount",
        namespace=legacy("namespace"),
        secret_name=legacy("secret.name"),
        account_name=legacy("service-account.name"),
        account_uid=legacy("service-account.uid"),
        pod_name_extra=dialect.label("authentication.@/pod-name"),
        pod_uid_extra=dialect.label("authentication.@/pod-uid"),
        node_name_extra=dialect.label("authentication.@/node-name"),
        node_uid_extra=dialect.label("authentication.@/node-uid"),
        credential_extra=credential_extra(dialect),
        issued_note=dialect.label("authentication.@/issued-credential-id"),
        stale_note=dialect.group_name("authentication.@/stale-token"),
        legacy_note=dialect.group_name("authentication.@/legacy-token"),
    )


class ServiceAccountTokens:
    """Checks both kinds of token. A token without audiences is valid for `own_audiences`."""

    def __init__(
        self,
        dialect: Dialect,
        issuers: Sequence[str],
        keys: KeyRing,
        own_audiences: Audiences,
        lookup: Lookup,
        *,
        look_up_legacy: bool = True,
        gates: Gates | None = None,
    ) -> None:
        self._dialect = dialect
        self._names = account_claims(dialect)
        self._issuers = frozenset(issuers)
        self._keys = keys
        self._own_audiences = own_audiences
        self._lookup = lookup
        self._look_up_legacy = look_up_legacy
        gates = gates or Gates()
        self._shows_ids = gates["ServiceAccountTokenJTI"]
        self._knows_nodes = gates["ServiceAccountTokenNodeBindingValidation"]

    async def check(self, token: str, wanted_audiences: Audiences) -> Grant | None:
        read = unverified(token)
        if read is None:
            return None
        header, claims = read
        issuer = claims.get("iss")
        if not isinstance(issuer, str):
            return None
        legacy = issuer == self._names.legacy_issuer
        if not legacy and issuer not in self._issuers:
            return None
        try:
            claims = verified_by_any(token, header.get("kid"), self._keys.public)
            shared = self._audiences(claims, wanted_audiences)
            until = _check_times(claims)
        except BadToken as error:
            raise Rejected(str(error), kinds=[_BAD_TOKEN]) from None
        if legacy:
            return self._legacy(token, claims, shared, until)
        return self._bound(claims, shared, until)

    def _audiences(self, claims: Claims, wanted_audiences: Audiences) -> Audiences:
        offered = audiences(claims) or self._own_audiences
        shared = common(wanted_audiences, offered)
        if not shared and self._own_audiences:
            raise BadToken(
                f"token audiences {_quoted(offered)} is invalid for the target audiences"
                f" {_quoted(wanted_audiences)}"
            )
        return shared

    def _bound(self, claims: Claims, audiences: Audiences, until: float) -> Grant:
        own = _mapping(claims.get(self._names.bound))
        namespace = _text(own.get("namespace"))
        account = _mapping(own.get("serviceaccount"))
        name, uid = _text(account.get("name")), _text(account.get("uid"))
        if not (namespace and name and uid):
            raise Rejected("service account token claims are incomplete")
        anchors = [(ACCOUNTS, f"{namespace}/{name}")]
        ends = [until, self._check_account(namespace, name, uid)]
        for kind, resource in (("secret", SECRETS), ("pod", PODS)):
            if own.get(kind) is not None:
                ref = _mapping(own[kind])
                ends.append(self._check_bound(resource, kind, namespace, ref))
                anchors.append((resource, f"{namespace}/{ref['name']}"))
        node = _mapping(own.get("node")) if self._knows_nodes else {}
        if node and own.get("pod") is None:
            ends.append(self._check_bound(NODES, "node", "", node))
            anchors.append((NODES, node["name"]))
        user = self._user(namespace, name, uid, _mapping(own.get("pod")), node, claims.get("jti"))
        return Grant(user, audiences, min(ends), tuple(anchors), self._stale(claims, own))

    def _stale(self, claims: Claims, own: Claims) -> Remarks | None:
        """The audit annotation for tokens that should have been renewed."""
        try:
            since = seconds(own, "warnafter")
        except BadToken as error:
            raise Rejected(str(error), kinds=[_BAD_TOKEN]) from None
        if not since:
            return None
        subject = _text(claims.get("sub"))
        text = f"subject: {subject}, seconds after warning threshold: "
        return Remarks(self._names.stale_note, text, since)

    def _legacy(self, token: str, claims: Claims, shared: Audiences, until: float) -> Grant:
        names = self._names
        subject = _text(claims.get("sub"))
        namespace, secret_name, name, uid = (
            _text(claims.get(claim))
            for claim in (names.namespace, names.secret_name, names.account_name, names.account_uid)
        )
        for value, shown in (
            (subject, "sub"),
            (namespace, "namespace"),
            (secret_name, "secretName"),
            (name, "serviceAccountName"),
            (uid, "serviceAccountUID"),
        ):
            if not value:
                raise Rejected(f"{shown} claim is missing")
        if split_account_name(subject) != (namespace, name):
            raise Rejected("sub claim is invalid")
        user = self._user(namespace, name, uid)
        remarks = None
        if not audiences(claims):
            remarks = Remarks(names.legacy_note, subject)
        if not self._look_up_legacy:
            return Grant(user, shared, until, (), remarks)
        self._check_copy(namespace, secret_name, token)
        until = min(until, self._check_account(namespace, name, uid))
        anchors: tuple[Anchor, ...] = (
            (SECRETS, f"{namespace}/{secret_name}"),
            (ACCOUNTS, f"{namespace}/{name}"),
        )
        return Grant(user, shared, until, anchors, remarks)

    def _check_account(self, namespace: str, name: str, uid: str) -> float:
        """Check that the account exists; returns when it ends, as far as is known."""
        account = self._lookup(ACCOUNTS, namespace, name)
        if account is None:
            raise Rejected(f'serviceaccounts "{name}" not found', kinds=[_GONE])
        end = _end(account, self._dialect)
        if end <= time():
            text = f"service account {namespace}/{name} has been deleted"
            raise Rejected(text, kinds=[_GONE])
        current = account["metadata"]["uid"]
        if current != uid:
            text = f"service account UID ({current}) does not match claim ({uid})"
            raise Rejected(text, kinds=[_GONE])
        return end

    def _check_bound(self, resource: str, kind: str, namespace: str, ref: Claims) -> float:
        name, uid = _text(ref.get("name")), _text(ref.get("uid"))
        value = self._lookup(resource, namespace, name) if name else None
        if value is None:
            raise Rejected(_INVALIDATED)
        end = _end(value, self._dialect)
        if end <= time():
            raise Rejected(_INVALIDATED)
        current = value["metadata"]["uid"]
        if current != uid:
            text = f"{kind} UID ({current}) does not match service account {kind} ref claim ({uid})"
            raise Rejected(text, kinds=[_INVALIDATED])
        return end

    def _check_copy(self, namespace: str, name: str, token: str) -> None:
        secret = self._lookup(SECRETS, namespace, name)
        if secret is None or secret["metadata"].get("deletionTimestamp"):
            raise Rejected(_INVALIDATED)
        stored = b64decode((secret.get("data") or {}).get("token", ""))
        if not hmac.compare_digest(stored, token.encode()):
            raise Rejected("service account token does not match server's copy")

    def _user(
        self,
        namespace: str,
        name: str,
        uid: str,
        pod: Claims | None = None,
        node: Claims | None = None,
        token_id: object = "",
    ) -> User:
        names = self._names
        extra: dict[str, tuple[str, ...]] = {}
        if pod:
            extra[names.pod_name_extra] = (_text(pod.get("name")),)
            extra[names.pod_uid_extra] = (_text(pod.get("uid")),)
        if self._shows_ids and _text(token_id):
            extra[names.credential_extra] = (f"JTI={_text(token_id)}",)
        if node and _text(node.get("name")):
            extra[names.node_name_extra] = (_text(node.get("name")),)
            if _text(node.get("uid")):
                extra[names.node_uid_extra] = (_text(node.get("uid")),)
        groups = account_groups(namespace)
        return with_authenticated_group(
            User(account_user_name(namespace, name), uid, groups, extra)
        )


def _check_times(claims: Claims) -> float:
    """The expiry of the token; without leeway, since the issuer's clock is this server's."""
    now = time()
    expiry = seconds(claims, "exp")
    if expiry is not None and now >= expiry:
        raise BadToken("service account token has expired")
    for name in ("nbf", "iat"):
        start = seconds(claims, name)
        if start is not None and start > now + _SKEW:
            raise BadToken("service account token is not valid yet")
    return inf if expiry is None else expiry


def _end(value: Object, dialect: Dialect) -> float:
    """When an object ends; the containers of a Pod may use its token during the grace period."""
    metadata = value["metadata"]
    going = metadata.get("deletionTimestamp") is not None
    return deletion_end(metadata, dialect) if going else inf


def _mapping(value: object) -> Claims:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _quoted(texts: Sequence[str]) -> str:
    return "[" + " ".join(f'"{text}"' for text in texts) + "]"
