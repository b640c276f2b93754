"""How long a Job waits before it makes pods again after some have failed."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.base import clock
from fairlead.codec.types.times import parse_time
from fairlead.controllers.workloads.pods import Pod

_FIRST, _LONGEST = 10.0, 360.0
_MOST_DOUBLINGS = 6


def end_of_pause(pods: Iterable[Pod]) -> float:
    """When the pause is over, 0 if there is none: ten seconds after a failure, twice as many with
    every further one until a pod succeeds. It is told from the pods alone, so that it outlives the
    server."""
    now = clock.time()
    finished = [pod for pod in pods if not pod.deleting]
    success = _latest((pod for pod in finished if pod.phase == "Succeeded"), now)
    failures = [
        moment
        for pod in finished
        if pod.phase == "Failed" and (moment := _end(pod, now)) >= success
    ]
    if not failures:
        return 0.0
    pause = min(_FIRST * float(1 << min(len(failures) - 1, _MOST_DOUBLINGS)), _LONGEST)
    return max(failures) + pause


def _latest(pods: Iterable[Pod], now: float) -> float:
    return max((_end(pod, now) for pod in pods), default=0.0)


def _end(pod: Pod, now: float) -> float:
    """When a pod finished. Who cannot be believed, for that lies ahead, did when it was made."""
    if pod.finished:
        moment = parse_time(pod.finished).timestamp()
        if moment <= now:
            return moment
    return parse_time(pod.created).timestamp()
