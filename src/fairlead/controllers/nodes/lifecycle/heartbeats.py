"""When nodes were last heard of: by the heartbeat in their status, or by their lease.

A renewal of a lease is only noted: thousands of nodes renew theirs every few seconds.
"""

from __future__ import annotations

from fairlead.base import clock
from fairlead.base.records import dataclass
from fairlead.codec.types.times import parse_time
from fairlead.controllers.nodes.lifecycle.conditions import ready_condition
from fairlead.operations.api import Object
from fairlead.storage.version import Version

_RENEWED = b'"renewTime":"'


def _renewal(lease: Version) -> bytes:
    """The moment of the last renewal, as it is written. The spec of a lease comes last and has
    nothing behind it, so that no label can pass for it."""
    body = lease.body or b""
    start = body.rfind(_RENEWED)
    if start < 0:
        return b""
    start += len(_RENEWED)
    return body[start : body.index(b'"', start)]


@dataclass(slots=True)
class _Beat:
    """`said` is the heartbeat of the Ready condition, None while there is no such condition."""

    uid: str
    said: str | None
    seen: float


class Heartbeats:
    """What counts is when we heard, by our steady clock, not what the node believes the time to be.
    After a restart everybody has been heard of just now."""

    def __init__(self) -> None:
        self._beats: dict[str, _Beat] = {}
        self._leases: dict[str, tuple[bytes, float]] = {}

    def lease(self, name: str, lease: Version | None) -> None:
        """Note the lease of a node as it is now."""
        if lease is None:
            found = self._leases.pop(name, None)
            beat = self._beats.get(name)
            if found is not None and beat is not None:
                beat.seen = max(beat.seen, found[1])
            return
        renewed = _renewal(lease)
        before = self._leases.get(name)
        if renewed and (before is None or before[0] != renewed):
            self._leases[name] = renewed, clock.steady()

    def last(self, node: Object) -> float:
        """When a node, as it is now, was heard of last, by the steady clock. One that never
        reported anything was heard of when it was created."""
        name, uid = node["metadata"]["name"], node["metadata"]["uid"]
        ready = ready_condition(node)
        said = None if ready is None else ready.get("lastHeartbeatTime") or ""
        beat = self._beats.get(name)
        if beat is None or beat.uid != uid:
            created = parse_time(node["metadata"]["creationTimestamp"]).timestamp()
            age = clock.time() - created if said is None else 0.0
            beat = _Beat(uid, said, clock.steady() - age)
            self._beats[name] = beat
        elif beat.said != said:
            beat.said, beat.seen = said, clock.steady()
        lease = self._leases.get(name)
        return beat.seen if lease is None else max(beat.seen, lease[1])

    def forget(self, name: str) -> None:
        self._beats.pop(name, None)

    def hear_all(self) -> None:
        """As if everybody had been heard of now: it was we who did not hear."""
        for beat in self._beats.values():
            beat.seen = clock.steady()
