"""How the claims of a token become a user, by the rules and mappings of its issuer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairlead.auth.authentication.bearer import Audiences
from fairlead.auth.authentication.oidc import (
    check_required,
    credential_id,
    email_checked,
    group_list,
)
from fairlead.auth.authentication.tokens import BadToken, Claims
from fairlead.auth.authentication.user import User
from fairlead.auth.configuration import Expression, ExpressionError


class ValidationRule(NamedTuple):
    """An expression that must be true, and the message if it is not."""

    expression: Expression
    message: str

    async def check(self, values: Mapping[str, Any], about: str) -> None:
        """Raises BadToken; `about` names what is checked."""
        holds = await _evaluated(self.expression, values, about)
        if holds is not True:
            text = self.expression.text
            raise BadToken(
                f"error evaluating {about}: validation expression '{text}' failed: {self.message}"
            )


async def _evaluated(expression: Expression, values: Mapping[str, Any], about: str) -> Any:
    try:
        return await expression.evaluate(values)
    except ExpressionError as error:
        raise BadToken(f"error evaluating {about}: {error}") from None


@dataclass(slots=True)
class ClaimMappings:
    """Maps claims to a user. Each part of the user comes from a claim or from an expression, not
    both."""

    audiences: Audiences
    credential_extra: str
    username_claim: str = ""
    username_prefix: str = ""
    username: Expression | None = None
    groups_claim: str = ""
    groups_prefix: str = ""
    groups: Expression | None = None
    uid_claim: str = ""
    uid: Expression | None = None
    extra: list[tuple[str, Expression]] = field(default_factory=list)
    required: dict[str, str] = field(default_factory=dict)
    claim_rules: list[ValidationRule] = field(default_factory=list)
    user_rules: list[ValidationRule] = field(default_factory=list)

    async def user(self, claims: Claims) -> User:
        """Raises BadToken."""
        try:
            values = {"claims": _with_doubles(claims)}
        except RecursionError:
            raise BadToken("the claims are nested too deeply") from None
        name = await self._username(claims, values)
        groups = await self._groups(claims, values)
        uid = await self._uid(claims, values)
        extra = credential_id(claims, self.credential_extra)
        for key, expression in self.extra:
            about = "extra claim expression"
            texts = _texts(await _evaluated(expression, values, about), about)
            if texts:
                extra[key] = tuple(texts)
        check_required(claims, self.required)
        for rule in self.claim_rules:
            await rule.check(values, "claim validation expression")
        user = User(name, uid, tuple(groups), extra)
        if self.user_rules:
            shown = _shown_user(user)
            for rule in self.user_rules:
                await rule.check(shown, "user info validation rule")
        return user

    async def _username(self, claims: Claims, values: Mapping[str, Any]) -> str:
        if self.username is None:
            return self.username_prefix + email_checked(claims, self.username_claim)
        about = "username claim expression"
        name = await _evaluated(self.username, values, about)
        if not isinstance(name, str):
            raise BadToken(f"error evaluating {about}: {about} must return a string")
        if not name:
            raise BadToken("empty username via CEL expression is not allowed")
        return name

    async def _groups(self, claims: Claims, values: Mapping[str, Any]) -> list[str]:
        if self.groups is not None:
            about = "group claim expression"
            return _texts(await _evaluated(self.groups, values, about), about)
        if self.groups_claim not in claims:
            return []
        return [self.groups_prefix + group for group in group_list(claims, self.groups_claim)]

    async def _uid(self, claims: Claims, values: Mapping[str, Any]) -> str:
        if self.uid_claim:
            uid = claims.get(self.uid_claim)
            if not isinstance(uid, str):
                raise BadToken(f'parse uid claim "{self.uid_claim}": not a text')
            return uid
        if self.uid is None:
            return ""
        about = "uid claim expression"
        uid = await _evaluated(self.uid, values, about)
        if not isinstance(uid, str):
            raise BadToken(f"error evaluating {about}: {about} must return a string")
        return uid


def _texts(value: Any, about: str) -> list[str]:
    """The texts that an expression returned: one, a list or null; empty ones are left out."""
    listed = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        text = "expression must return a string or a list of strings"
        raise BadToken(f"error evaluating {about}: {text}")
    return [text for text in listed if text]


def _with_doubles(value: Any) -> Any:
    """Claims as expressions see them: every number is a double."""
    if isinstance(value, dict):
        return {name: _with_doubles(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_doubles(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _shown_user(user: User) -> dict[str, Any]:
    extra = {key: list(values) for key, values in user.extra.items()}
    shown = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    return {"user": shown}
