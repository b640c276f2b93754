"""The modes that look at nothing: AlwaysAllow and AlwaysDeny."""

from __future__ import annotations

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes
from fairlead.auth.authorization.chain import ImmediateMode
from fairlead.auth.authorization.decision import ALLOWED, Decision, UserRules

_EVERYTHING_IS_FORBIDDEN = Decision(reason="Everything is forbidden.")


class AlwaysAllow(ImmediateMode):
    def decide(self, attributes: Attributes) -> Decision:
        return ALLOWED

    def rules_for(self, user: User, namespace: str) -> UserRules:
        return UserRules(
            [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        )


class AlwaysDeny(ImmediateMode):
    """Has no opinion on anything, so that a mode after it may still allow."""

    def decide(self, attributes: Attributes) -> Decision:
        return _EVERYTHING_IS_FORBIDDEN

    def rules_for(self, user: User, namespace: str) -> UserRules:
        return UserRules()
