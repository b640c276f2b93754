"""Approves requests of nodes for their own client certificates, if the requester is authorized."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes
from fairlead.auth.authorization.rbac import CLUSTER_ROLES
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.controllers.certificates.request_content import (
    REQUESTS,
    RequestContent,
    Unreadable,
    read_content,
)
from fairlead.controllers.certificates.rules import rules_of
from fairlead.controllers.certificates.states import is_undecided, with_condition, write
from fairlead.controllers.framework import Keys
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.certificates.conditions import APPROVED
from fairlead.storage.version import Change

BINDINGS = "rbac/v1/clusterrolebindings"
_ASK_AGAIN = 300.0  # seconds; authorizers such as webhooks do not announce changes


class _ApprovalRule(NamedTuple):
    """`right` is the subresource of signing requests that the requester must be allowed to
    create."""

    right: str
    message: str


_OWN_RULE = _ApprovalRule(
    "selfnodeclient",
    "Auto approving self kubelet client certificate after SubjectAccessReview.",
)
_ANY = _ApprovalRule(
    "nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."
)


class CertificateApprover:
    """Keys are names of requests."""

    name = "csrapproving"
    workers = 1

    def __init__(
        self,
        client: Client,
        dialect: Dialect,
        allowed: Callable[[Attributes], Awaitable[bool]],
    ) -> None:
        self._client = client
        self._allowed = allowed
        self._group = dialect.group_name("certificates.@")
        self._signer = dialect.signer_client_node
        self._rule = rules_of(dialect)[self._signer]
        self._refused: set[str] = set()

    def follows(self) -> Mapping[str, Keys]:
        return {
            REQUESTS: self._request,
            BINDINGS: self._refused_so_far,
            CLUSTER_ROLES: self._refused_so_far,
        }

    def _request(self, change: Change) -> Iterable[str]:
        if change.after is None:
            self._refused.discard(change.name)
            return ()
        return (change.name,) if change.after.fields["spec.signerName"] == self._signer else ()

    def _refused_so_far(self, change: Change) -> Iterable[str]:
        """Refused requests; a changed role may allow them."""
        return tuple(self._refused)

    async def sync(self, key: str) -> float | None:
        self._refused.discard(key)
        request = self._client.find(REQUESTS, "", key)
        if request is None or not is_undecided(request):
            return None
        recognized = await asyncio.to_thread(self._recognized, request)
        for rule in recognized:
            if await self._may(request, rule.right):
                await self._approve(request, rule.message)
                return None
        if not recognized:
            return None
        self._refused.add(key)
        return _ASK_AGAIN

    def _recognized(self, request: Object) -> list[_ApprovalRule]:
        spec = request["spec"]
        try:
            content: RequestContent = read_content(request)
        except Unreadable:
            return []
        if spec["signerName"] != self._signer or self._rule(content, spec["usages"]):
            return []
        return [_OWN_RULE, _ANY] if spec.get("username") == content.common_name else [_ANY]

    async def _may(self, request: Object, right: str) -> bool:
        spec = request["spec"]
        extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
        groups = tuple(spec.get("groups") or ())
        user = User(spec.get("username", ""), spec.get("uid", ""), groups, extra)
        resource = REQUESTS.rpartition("/")[2]
        return await self._allowed(Attributes(user, "create", self._group, "*", resource, right))

    async def _approve(self, request: Object, message: str) -> None:
        def approved(newest: Object) -> Object:
            return with_condition(newest, APPROVED, "AutoApproved", message)

        try:
            await write(self._client, request, "approval", is_undecided, approved)
        except StatusError as error:
            if error.code != 404:
                raise
