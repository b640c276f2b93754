"""The user's identity: from the server, or else derived from the credentials."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from cryptography.x509 import load_pem_x509_certificate
from cryptography.x509.oid import NameOID

from fairlead.auth.authentication.user import (
    ANONYMOUS_NAME,
    AUTHENTICATED,
    UNAUTHENTICATED,
    account_groups,
    split_account_name,
)
from fairlead.cli.errors import CommandFailed
from fairlead.client import ApiError, Client, Impersonation
from fairlead.client.session import Request

_REVIEW = "SelfSubjectReview"


@dataclass(frozen=True, slots=True)
class Identity:
    """`source` says how the identity was derived; empty if the server returned it."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, list[str]] = field(default_factory=dict)
    source: str = ""

    @property
    def info(self) -> dict[str, Any]:
        """The userInfo of the API."""
        parts = {
            "username": self.user,
            "uid": self.uid,
            "groups": list(self.groups),
            "extra": dict(self.extra),
        }
        return {name: value for name, value in parts.items() if value}


async def identity(client: Client) -> Identity:
    """Raises CommandFailed if the identity cannot be determined, and errors of requests."""
    reported = await _reported_identity(client)
    if reported is not None:
        return reported
    if client.access.impersonation.user:
        return _impersonated(client.access.impersonation)
    proof = await client.access.credentials.proof()
    if proof.certificate:
        return _of_certificate(proof.certificate)
    scheme, _, value = proof.authorization.partition(" ")
    if scheme == "Bearer":
        return await _of_token(client, value)
    if scheme == "Basic":
        name = b64decode(value).decode(errors="replace").partition(":")[0]
        return Identity(name, (AUTHENTICATED,), source="the user name of the configuration")
    return Identity(ANONYMOUS_NAME, (UNAUTHENTICATED,), source="there being no credentials")


async def _reported_identity(client: Client) -> Identity | None:
    """The result of a SelfSubjectReview; None if the server has none: it was added after v1.25."""
    own = (await client.discovery.dialect()).group_name("authentication.@")
    for group in await client.discovery.groups():
        for version in group.versions if group.name == own else ():
            try:
                status = await _review(client, f"{own}/{version}", _REVIEW)
            except ApiError as error:
                if error.code not in (403, 404, 405):
                    raise
                continue
            return _of_info(status.get("userInfo") or {})
    return None


async def _review(client: Client, api: str, kind: str, **parts: Any) -> dict[str, Any]:
    body = orjson.dumps({"apiVersion": api, "kind": kind, **parts})
    answer = await client.session.json(Request("POST", f"/apis/{api}/{kind.lower()}s", body=body))
    return dict(answer.get("status") or {})


def _of_info(info: Mapping[str, Any], source: str = "") -> Identity:
    groups = tuple(info.get("groups") or ())
    extra = info.get("extra") or {}
    return Identity(info.get("username", ""), groups, info.get("uid", ""), extra, source)


def _impersonated(who: Impersonation) -> Identity:
    """The identity that the server derives from the impersonation headers, with implied groups."""
    groups = tuple(who.groups)
    account = split_account_name(who.user)
    if account is not None and not groups:
        groups = account_groups(account[0])
    last = UNAUTHENTICATED if who.user == ANONYMOUS_NAME else AUTHENTICATED
    if not {AUTHENTICATED, UNAUTHENTICATED} & set(groups):
        groups = (*groups, last)
    extra = {name: list(values) for name, values in who.extra.items()}
    return Identity(who.user, groups, who.uid, extra, "the user to act as")


def _of_certificate(content: bytes) -> Identity:
    try:
        subject = load_pem_x509_certificate(content).subject
    except ValueError:
        raise CommandFailed("error: the client certificate cannot be read") from None
    names = [
        str(attribute.value) for attribute in subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    ]
    groups = [
        str(attribute.value)
        for attribute in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    ]
    return Identity(
        names[0] if names else "",
        (*groups, AUTHENTICATED),
        source="the subject of the client certificate",
    )


async def _of_token(client: Client, token: str) -> Identity:
    """The result of a TokenReview; if that is forbidden, the claims of the token."""
    own = (await client.discovery.dialect()).group_name("authentication.@")
    try:
        status = await _review(client, f"{own}/v1", "TokenReview", spec={"token": token})
    except ApiError as error:
        if error.code not in (403, 404):
            raise
        return _of_claims(token, error)
    if not status.get("authenticated"):
        raise CommandFailed("error: the server does not accept this token")
    return _of_info(status.get("user") or {}, "a TokenReview")


def _of_claims(token: str, refusal: ApiError) -> Identity:
    """The identity in a service account token; raises CommandFailed for other tokens."""
    claims = _claims(token)
    user = str(claims.get("sub") or "")
    account = split_account_name(user)
    if account is None:
        raise CommandFailed(
            "error: cannot determine the user: the server has no SelfSubjectReview API, and"
            f" {refusal.message}"
        )
    groups = (*account_groups(account[0]), AUTHENTICATED)
    return Identity(user, groups, source="the claims of the token")


def _claims(token: str) -> dict[str, Any]:
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = orjson.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}
