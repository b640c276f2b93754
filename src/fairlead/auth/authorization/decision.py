"""What an authorizer answers, and what a user may do at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.base.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of one mode or of all of them. Neither allowed nor denied means no opinion: the
    next mode is asked, and in the end nobody allowed it.

    `lasting` says that the answer holds until the roles and bindings change, for every user of
    the same name and groups, so that it may be kept.
    """

    allowed: bool = False
    denied: bool = False
    reason: str = ""
    errors: tuple[str, ...] = ()
    lasting: bool = True

    @property
    def final(self) -> bool:
        """Whether no further mode is asked."""
        return self.allowed or self.denied

    @property
    def error(self) -> str:
        """What went wrong on the way, as one text."""
        return joined_errors(self.errors)


ALLOWED = Decision(allowed=True)
NO_OPINION = Decision()


def joined_errors(errors: Sequence[str]) -> str:
    """Errors as one text, each once."""
    distinct = list(dict.fromkeys(errors))
    if len(distinct) > 1:
        return f"[{', '.join(distinct)}]"
    return distinct[0] if distinct else ""


@dataclass(slots=True)
class UserRules:
    """What a user may do in a namespace, as far as modes can tell it in rules."""

    resource_rules: list[dict[str, Any]] = field(default_factory=list)
    path_rules: list[dict[str, Any]] = field(default_factory=list)
    incomplete: bool = False
    errors: list[str] = field(default_factory=list)

    def add(self, other: UserRules) -> None:
        self.resource_rules += other.resource_rules
        self.path_rules += other.path_rules
        self.incomplete = self.incomplete or other.incomplete
        self.errors += other.errors

    @property
    def error(self) -> str:
        return joined_errors(self.errors)
