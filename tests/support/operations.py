"""The history of a run: operations of concurrent clients, and their answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

Value = str | None  # the content of an object, None if it does not exist


class Verb(Enum):
    CREATE = "create"
    GET = "get"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"


class Outcome(Enum):
    DONE = "done"
    ABSENT = "absent"  # the object did not exist
    CONFLICT = "conflict"  # it existed already, or did not match the precondition
    REFUSED = "refused"  # for a reason that is independent of the object
    UNKNOWN = "unknown"  # it may have happened, may still happen, or never


@dataclass(frozen=True, slots=True)
class Operation:
    """One request about one key. `value` is the written value, or the result of a get; every write
    of a run writes a different one. `expected` is the resourceVersion of its precondition."""

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
        """Return the operation with an unknown outcome."""
        return replace(self, returned=math.inf, outcome=Outcome.UNKNOWN, revision=None)

    def __str__(self) -> str:
        end = f"{self.returned:.6f}" if self.returned < math.inf else "never"
        expected = f" over {self.expected}" if self.expected is not None else ""
        revision = f" at {self.revision}" if self.revision is not None else ""
        return (
            f"{self.called:.6f} to {end}  {self.client}: {self.verb.value} {self.key}"
            f" {self.value or ''}{expected}: {self.outcome.value}{revision}"
        )
