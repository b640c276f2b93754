"""When a stage is played, and draws: weights and jitter.

Nothing is remembered: the delay begins with the last change of the object, and draws depend on the
object and the stage alone, so that they are the same after a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.base.release import Release
from fairlead.codec.cel.values import Duration, Timestamp
from fairlead.codec.types.durations import DurationError, parse_duration
from fairlead.codec.types.model import Object
from fairlead.codec.types.times import moment
from fairlead.controllers.simulation.stages.expressions import Query, StageError, query_from
from fairlead.resources.metadata import MAX_GRACE, deletion_end

_MAX_SECONDS = 10 * 365 * 24 * 3600.0


def draw(seed: str, purpose: str, value: Object) -> float:
    """A number from 0 up to 1 for an object in its present version. With a seed it depends on the
    name of the object only, so that tests get the same in every run."""
    metadata = value["metadata"]
    if seed:
        identity = f"{seed} {metadata.get('namespace', '')}/{metadata['name']}"
    else:
        identity = f"{metadata.get('uid')} {metadata.get('resourceVersion')}"
    digest = sha256(f"{identity} {purpose}".encode()).digest()
    return int.from_bytes(digest[:7]) / 2**56


def changed_at(value: Object, dialect: Dialect, *, without_status: bool = False) -> float:
    """When an object was last changed, in seconds since the epoch."""
    metadata = value["metadata"]
    times = [metadata.get("creationTimestamp")] + [
        entry.get("time")
        for entry in metadata.get("managedFields") or ()
        if not (without_status and entry.get("subresource") == "status")
    ]
    moments = [when.timestamp() for text in times if (when := moment(text)) is not None]
    if metadata.get("deletionTimestamp"):
        grace = min(metadata.get("deletionGracePeriodSeconds") or 0, MAX_GRACE)
        moments.append(deletion_end(metadata, dialect) - grace)
    return max(moments, default=0.0)


@dataclass(frozen=True, slots=True)
class Length:
    """A length of time: fixed, or from the object."""

    fixed: float | None
    query: Query | None

    def seconds(self, value: Object, since: float) -> float | None:
        """The length from a moment on; a time that the object has is a length until then."""
        found = self.query.results(value)[:1] if self.query is not None else []
        for result in found:
            if result == "":
                return None
            seconds = _seconds(result, since)
            if seconds is not None:
                return seconds
        return self.fixed


def _seconds(result: Any, since: float) -> float | None:
    if isinstance(result, Duration):
        return result / 1e9
    if isinstance(result, Timestamp):
        return result / 1e9 - since
    if not isinstance(result, str):
        return None
    when = moment(result)
    if when is not None:
        return when.timestamp() - since
    try:
        return parse_duration(result)
    except DurationError:
        return None


@dataclass(frozen=True, slots=True)
class Delay:
    """The delay of a stage. With jitter it is drawn between both lengths; a jitter that is shorter
    than the length itself takes its place."""

    length: Length
    jitter: Length

    def due(self, value: Object, since: float, drawn: float) -> float:
        """When to play the stage for an object that has been in it since a moment."""
        seconds = self.length.seconds(value, since)
        if seconds is None:
            return since
        upper = self.jitter.seconds(value, since)
        if upper is not None:
            seconds = upper if upper <= seconds else seconds + drawn * (upper - seconds)
        return since + min(max(seconds, 0.0), _MAX_SECONDS)


def compile_delay(delay: Mapping[str, Any], release: Release) -> Delay:
    """Compile `spec.delay`; raises StageError."""
    return Delay(
        _length(delay, "durationMilliseconds", "durationFrom", release, 0.0),
        _length(delay, "jitterDurationMilliseconds", "jitterDurationFrom", release, None),
    )


def _length(
    delay: Mapping[str, Any], fixed: str, source: str, release: Release, default: float | None
) -> Length:
    milliseconds = delay.get(fixed)
    query = None
    if delay.get(source):
        try:
            query = query_from(delay[source], release)
        except StageError as error:
            raise StageError(f"delay.{source}: {error}") from None
    return Length(default if milliseconds is None else milliseconds / 1000, query)
