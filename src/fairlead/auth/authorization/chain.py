"""The authorization chain and its decision cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from fairlead.auth.authentication.user import MASTERS, User
from fairlead.auth.authorization.attributes import (
    ALLOWED,
    SELECTORS,
    Attributes,
    Decision,
    UserRules,
)
from fairlead.base.caches import BoundedCache
from fairlead.base.compiled import mypyc_attr

_MAX_CACHED = 50_000
_MAX_BYTES = 32 * 1024 * 1024
_MAX_ATTRIBUTE_BYTES = 512  # bytes of the attributes
_MAX_KEY_BYTES = 2048  # bytes of the attributes, the user name and all groups


class Epoch:
    """Counts the changes that can affect decisions; cached decisions of an older count are
    invalid."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def advance(self) -> None:
        self.count += 1


class Mode(Protocol):
    """One authorization mode. Never raises: failures go into the decision's errors."""

    async def authorize(self, attributes: Attributes) -> Decision: ...

    def rules_for(self, user: User, namespace: str) -> UserRules:
        """The rules of the user, as far as this mode can express them."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ImmediateMode:
    """A mode that decides synchronously: implement `decide`."""

    def decide(self, attributes: Attributes) -> Decision:
        raise NotImplementedError

    async def authorize(self, attributes: Attributes) -> Decision:
        return self.decide(attributes)


class Authorizer:
    """Asks the modes in order until one allows or denies. Members of `system:masters` may do
    everything, regardless of the modes."""

    def __init__(
        self, modes: Sequence[Mode], epoch: Epoch | None = None, mode_names: Sequence[str] = ()
    ) -> None:
        self._modes = tuple(modes)
        self.mode_names = tuple(mode_names)
        self._epoch = epoch or Epoch()
        self._cache: BoundedCache[tuple[Any, ...], Decision] = BoundedCache(
            _MAX_CACHED, _MAX_BYTES, _MAX_KEY_BYTES
        )
        self._kept_at = self._epoch.count

    def replace(self, modes: Sequence[Mode]) -> None:
        """Decide by other modes from now on."""
        self._modes = tuple(modes)
        self._epoch.advance()

    def decide_cached(self, attributes: Attributes) -> Decision | None:
        """The decision if it is cached, else None."""
        user = attributes[0]
        if MASTERS in user.groups:
            return ALLOWED
        if self._kept_at != self._epoch.count:
            self._forget()
            return None
        return self._cache.get((user.name, user.groups, attributes[1:SELECTORS]))

    async def authorize(self, attributes: Attributes) -> Decision:
        cached = self.decide_cached(attributes)
        if cached is not None:
            return cached
        epoch = self._epoch.count
        decision = await self._decide_uncached(attributes)
        if decision.lasting and epoch == self._epoch.count:
            self._keep(attributes, decision)
        return decision

    async def allowed(self, attributes: Attributes) -> bool:
        return (await self.authorize(attributes)).allowed

    async def _decide_uncached(self, attributes: Attributes) -> Decision:
        reasons: list[str] = []
        errors: list[str] = []
        lasting = True
        for mode in self._modes:
            if isinstance(mode, ImmediateMode):
                decision = mode.decide(attributes)
            else:
                decision = await mode.authorize(attributes)
            lasting = lasting and decision.lasting
            if decision.final:
                if lasting is decision.lasting:
                    return decision
                return Decision(
                    decision.allowed, decision.denied, decision.reason, decision.errors, lasting
                )
            if decision.reason:
                reasons.append(decision.reason)
            errors += decision.errors
        return Decision(reason="\n".join(reasons), errors=tuple(errors), lasting=lasting)

    def _keep(self, attributes: Attributes, decision: Decision) -> None:
        attribute_length = sum(map(len, attributes[1:9]))
        if attribute_length > _MAX_ATTRIBUTE_BYTES:
            return
        user = attributes.user
        length = attribute_length + len(user.name) + sum(map(len, user.groups))
        key = user.name, user.groups, attributes[1:SELECTORS]
        self._cache.keep(key, decision, length)

    def _forget(self) -> None:
        self._cache.clear()
        self._kept_at = self._epoch.count

    def rules_for(self, user: User, namespace: str) -> UserRules:
        """The rules of a user in a namespace, in the order of the modes."""
        rules = UserRules()
        for mode in self._modes:
            rules.add(mode.rules_for(user, namespace))
        return rules
