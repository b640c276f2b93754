"""Webhook: an external service decides, by SubjectAccessReview."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from fairlead.auth import configuration as configuration_files
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization import configuration
from fairlead.auth.authorization.attributes import Attributes, Decision, UserRules
from fairlead.base.caches import BoundedCache
from fairlead.base.clock import time
from fairlead.base.dialect import Dialect
from fairlead.base.logs import Logger, Tally
from fairlead.storage.selection import Requirement
from fairlead.wire.outgoing.response import CallError

if TYPE_CHECKING:
    from fairlead.auth.configuration import Expression

logger = Logger("fairlead")

VERSIONS = ("v1", "v1beta1")
_TIMEOUT = 30.0
_MAX_CACHED = 8192
_MAX_BYTES = 16 * 1024 * 1024
_MAX_KEY_BYTES = 4096  # bytes of the encoded attributes and user, and of the reason
_MAX_CACHED_LENGTH = 10_000  # characters of attributes, which the client controls
_ERROR_BOTH = "webhook subject access review returned both allow and deny response"


class Poster(Protocol):
    """Posts a review and returns the response; raises CallError."""

    async def post_with_retries(self, body: dict[str, Any], timeout: float) -> dict[str, Any]: ...


class Webhook:
    """Caches decisions, with separate times for allowed and other responses. A failed call is no
    opinion, or denies the request."""

    def __init__(
        self,
        dialect: Dialect,
        poster: Poster,
        *,
        version: str = "v1beta1",
        authorized_ttl: float = 300.0,
        unauthorized_ttl: float = 30.0,
        timeout: float = _TIMEOUT,
        denies: bool = False,
        conditions: Sequence[Expression] = (),
    ) -> None:
        """`denies` if a failure denies the request. It is called only for requests that fulfil all
        conditions."""
        self._poster = poster
        self._version = version
        self._api_version = f"{dialect.group_name('authorization.@')}/{version}"
        self._authorized_ttl = authorized_ttl
        self._unauthorized_ttl = unauthorized_ttl
        self._timeout = timeout
        self._denies = denies
        self._conditions = tuple(conditions)
        self._failed = Tally(logger, logging.WARNING, "requests are decided without an opinion")
        self._cache: BoundedCache[bytes, tuple[float, Decision]] = BoundedCache(
            _MAX_CACHED, _MAX_BYTES, _MAX_KEY_BYTES
        )

    async def authorize(self, attributes: Attributes) -> Decision:
        spec = self._spec(attributes)
        if self._conditions:
            try:
                if not await configuration.matches(self._conditions, spec):
                    return Decision(lasting=False)
            except configuration_files.ExpressionError as error:
                return Decision(denied=self._denies, errors=(str(error),), lasting=False)
        key = orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)
        cached = self._cache.get(key)
        if cached is not None and time() < cached[0]:
            return cached[1]
        try:
            decision = await self._ask(spec)
        except CallError as error:
            self._failed.add("the authorization webhook failed", str(error.brief))
            return Decision(denied=self._denies, errors=(str(error),), lasting=False)
        if sum(map(len, attributes[1:9])) < _MAX_CACHED_LENGTH:
            self._keep(key, decision)
        return decision

    async def _ask(self, spec: dict[str, Any]) -> Decision:
        review = {
            "kind": "SubjectAccessReview",
            "apiVersion": self._api_version,
            "metadata": {"creationTimestamp": None},
            "spec": spec,
            "status": {"allowed": False},
        }
        answer = await self._poster.post_with_retries(review, self._timeout)
        for name in ("kind", "apiVersion"):
            if answer.get(name, review[name]) != review[name]:
                raise CallError(f"the answer is not a {self._api_version} SubjectAccessReview")
        return _decision(answer.get("status"))

    def _keep(self, key: bytes, decision: Decision) -> None:
        ttl = self._authorized_ttl if decision.allowed else self._unauthorized_ttl
        if ttl <= 0:
            return
        self._cache.keep(key, (time() + ttl, decision), len(key) + len(decision.reason))

    def _spec(self, attributes: Attributes) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        if attributes.is_resource:
            parts = {
                "namespace": attributes.namespace,
                "verb": attributes.verb,
                "group": attributes.group,
                "version": attributes.version,
                "resource": attributes.resource,
                "subresource": attributes.subresource,
                "name": attributes.name,
            }
            shown: dict[str, Any] = {name: text for name, text in parts.items() if text}
            for name, selector in _selectors(attributes):
                shown[name] = {"requirements": selector}
            spec["resourceAttributes"] = shown
        else:
            spec["nonResourceAttributes"] = {"path": attributes.path, "verb": attributes.verb}
        user = attributes.user
        optional = {
            "user": user.name,
            "groups" if self._version == "v1" else "group": list(user.groups),
            "extra": {key: list(values) for key, values in user.extra.items()},
            "uid": user.uid,
        }
        return spec | {name: value for name, value in optional.items() if value}

    def rules_for(self, user: User, namespace: str) -> UserRules:
        error = "webhook authorizer does not support user rule resolution"
        return UserRules(incomplete=True, errors=[error])


_SHOWN_OPERATORS = {"in": "In", "notin": "NotIn", "exists": "Exists", "!": "DoesNotExist"}


def _selectors(attributes: Attributes) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The selectors that have a requirement which a review can express."""
    for name, requirements in (
        ("fieldSelector", attributes.fields),
        ("labelSelector", sorted(attributes.labels, key=lambda rule: rule.key)),
    ):
        shown = [_shown(rule) for rule in requirements if rule.operator in _SHOWN_OPERATORS]
        if shown:
            yield name, shown


def _shown(rule: Requirement) -> dict[str, Any]:
    requirement: dict[str, Any] = {"key": rule.key, "operator": _SHOWN_OPERATORS[rule.operator]}
    if rule.values:
        requirement["values"] = sorted(rule.values)
    return requirement


def _decision(status: Any) -> Decision:
    if not isinstance(status, dict):
        raise CallError("the answer has no status")
    allowed, denied = status.get("allowed") or False, status.get("denied") or False
    if not (isinstance(allowed, bool) and isinstance(denied, bool)):
        raise CallError("the decision of the answer is not a boolean")
    reason = status.get("reason", "")
    errors = (_ERROR_BOTH,) if allowed and denied else ()
    return Decision(
        allowed and not denied,
        denied,
        reason if isinstance(reason, str) else "",
        errors,
        lasting=False,
    )
