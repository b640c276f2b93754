"""What concurrent clients did to objects and what they were answered: the history of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

Value = str | None  # the content of an object, None when it does not exist


class Verb(Enum):
    CREATE = "create"
    GET = "get"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"


class Outcome(Enum):
    DONE = "done"
    ABSENT = "absent"  # there was no such object
    CONFLICT = "conflict"  # there was one already, or not the one that was expected
    REFUSED = "refused"  # for a reason that says nothing about the object
    UNKNOWN = "unknown"  # it may have happened, may still happen, or never


@dataclass(frozen=True, slots=True)
class Operation:
    """One request about one key. `value` is what it writes, or what a get was shown; every write
    of a run writes another one. `expected` is the resourceVersion that it asked to find."""

    client: str
    key: str
    verb: Verb
    called: float
    returned: float
    outcome: Outcome
    value: Value = None
    revision: int | None = None
    expected: int | None = None

    @property
    def writes(self) -> bool:
        return self.verb is not Verb.GET

    @property
    def is_acknowledged(self) -> bool:
        return self.writes and self.outcome is Outcome.DONE

    def unsure(self) -> Operation:
        """The same, had nobody heard how it ended."""
        return replace(self, returned=math.inf, outcome=Outcome.UNKNOWN, revision=None)

    def __str__(self) -> str:
        end = f"{self.returned:.6f}" if self.returned < math.inf else "never"
        expected = f" over {self.expected}" if self.expected is not None else ""
        revision = f" at {self.revision}" if self.revision is not None else ""
        return (
            f"{self.called:.6f} to {end}  {self.client}: {self.verb.value} {self.key}"
            f" {self.value or ''}{expected}: {self.outcome.value}{revision}"
        )
