"""Annotations of Deployments and ReplicaSets for revisions and sizes."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.base.dialect import Dialect
from fairlead.fields.last_applied import ANNOTATION as LAST_APPLIED
from fairlead.operations.api import Object
from fairlead.resources.rules import bounded_int

_MAX_HISTORY_LENGTH = 2000
_INT64_LIMIT = 2**63


def _texts(value: Object) -> Object:
    return value["metadata"].get("annotations") or {}


def _number(text: str) -> int | None:
    """The integer (64 bits) in a text, or None."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit():
        return None
    number = bounded_int(text)
    return number if abs(number) < _INT64_LIMIT else None


class Annotations:
    """Reads and writes the annotations, with the names of a dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.revision = dialect.label("deployment.@/revision")
        self.history = dialect.label("deployment.@/revision-history")
        self.desired = dialect.label("deployment.@/desired-replicas")
        self.maximum = dialect.label("deployment.@/max-replicas")
        self.rollback = "deprecated.deployment.rollback.to"
        self._own = {
            dialect.label(LAST_APPLIED),
            *(self.revision, self.history, self.desired, self.maximum, self.rollback),
        }

    def revision_of(self, value: Object) -> int:
        """The revision of a ReplicaSet; 0 if it has none."""
        return _number(_texts(value).get(self.revision, "")) or 0

    def latest_revision(self, sets: Iterable[Object]) -> int:
        return max((self.revision_of(replica_set) for replica_set in sets), default=0)

    def desired_replicas(self, replica_set: Object) -> int | None:
        """The Deployment's replicas when it last resized this ReplicaSet."""
        return _number(_texts(replica_set).get(self.desired, ""))

    def max_replicas(self, replica_set: Object) -> int | None:
        """The Deployment's replicas plus surge at that time."""
        return _number(_texts(replica_set).get(self.maximum, ""))

    def sized(self, annotations: Object | None, desired: int, maximum: int) -> Object:
        return {**(annotations or {}), self.desired: str(desired), self.maximum: str(maximum)}

    def of_new(self, deployment: Object, annotations: Object | None, revision: int) -> Object:
        """Annotations of the new ReplicaSet: those of the Deployment, and the revision if it is
        higher; the previous revision is appended to the history."""
        result = {**(annotations or {})}
        for name, text in _texts(deployment).items():
            if name not in self._own:
                result[name] = text
        before = result.get(self.revision)
        had = _number(before or "0")
        if had is None or had >= revision:
            return result
        result[self.revision] = str(revision)
        if before:
            result[self.history] = _with_past(result.get(self.history, ""), before)
        return result

    def rollback_of(self, deployment: Object) -> int | None:
        """The revision to roll back to, or None; 0 is the previous revision."""
        return _number(_texts(deployment).get(self.rollback, ""))

    def restored(self, deployment: Object, replica_set: Object) -> Object:
        """Annotations of a Deployment after a rollback: its own values of these, the ReplicaSet's
        of all others."""
        own = {name: text for name, text in _texts(deployment).items() if name in self._own}
        others = {name: text for name, text in _texts(replica_set).items() if name not in self._own}
        return {**own, **others}


def _with_past(history: str, revision: str) -> str:
    """The comma-separated history with a revision appended; drops the oldest beyond 2,000
    characters."""
    past = f"{history},{revision}" if history else revision
    if len(past) <= _MAX_HISTORY_LENGTH:
        return past
    comma = past.find(",", len(past) - _MAX_HISTORY_LENGTH - 1)
    return past[comma + 1 :] if comma >= 0 else revision
