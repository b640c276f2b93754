"""Which names a definition gets, and what its conditions say of that."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.base.records import dataclass, field
from fairlead.operations.api import Object
from fairlead.resources.apiextensions.conditions import (
    ESTABLISHED,
    NAMES_ACCEPTED,
    condition,
    is_true,
    set_condition,
)
from fairlead.resources.custom.definition import Definition


@dataclass(slots=True)
class Taken:
    """Names of a group that others have."""

    resources: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    def add(self, others: Iterable[Definition]) -> None:
        for other in others:
            self.resources |= {other.plural, other.singular, *other.short_names}
            self.kinds |= {other.kind, other.list_kind}
        self.resources.discard("")  # of those that were given none yet
        self.kinds.discard("")


def accept_names(value: Object, taken: Taken) -> None:
    """Give a definition those of the names it asks for that are free, and say so."""
    asked, has = value["spec"]["names"], value["status"]["acceptedNames"]
    given, refusal = dict(has), ("NoConflicts", "no conflicts found")
    for name, reason, others in (
        ("plural", "PluralConflict", taken.resources),
        ("singular", "SingularConflict", taken.resources),
        ("shortNames", "ShortNamesConflict", taken.resources),
        ("kind", "KindConflict", taken.kinds),
        ("listKind", "ListKindConflict", taken.kinds),
    ):
        wrong = _conflicts(asked.get(name), has.get(name), others)
        if wrong:
            refusal = (reason, wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")
        else:
            _copy(given, asked, name)
    _copy(given, asked, "categories")
    value["status"] = {**value["status"], "acceptedNames": given}
    accepted = refusal[0] == "NoConflicts"
    set_condition(value, condition(NAMES_ACCEPTED, accepted, *refusal))
    _establish(value, accepted)


def _copy(given: Object, asked: Object, name: str) -> None:
    if name in asked:
        given[name] = asked[name]
    else:
        given.pop(name, None)


def _conflicts(
    asked: str | list[str] | None, has: str | list[str] | None, others: set[str]
) -> list[str]:
    own = has if isinstance(has, list) else [has]
    wanted = asked if isinstance(asked, list) else [asked]
    return [f'"{name}" is already in use' for name in wanted if name not in own and name in others]


def _establish(value: Object, accepted: bool) -> None:
    """What was established once stays so: its objects are there."""
    if is_true(value, ESTABLISHED):
        return
    if accepted:
        reason, message = "InitialNamesAccepted", "the initial names have been accepted"
    else:
        reason, message = "NotAccepted", "not all names are accepted"
    set_condition(value, condition(ESTABLISHED, accepted, reason, message))
