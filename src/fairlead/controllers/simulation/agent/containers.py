"""The state machine of one container: pure functions from one status to the next.

All state is in the stored status, so a restarted server continues where it stopped.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from fairlead.base.caches import memoized
from fairlead.codec.types.times import parse_time
from fairlead.controllers.events import NORMAL, WARNING
from fairlead.controllers.simulation.behaviour import ContainerBehaviour, Obstacle
from fairlead.operations.api import Object
from fairlead.resources.core.pods.restarts import RESTART_ALL, matching_rule

_SHORT_LIFE = 1.0  # seconds that a container runs if it is to exit by itself
_RETRY = 2.0  # seconds until a container is tried again for which something was missing
_LONG_RUN = 600.0  # a run of this many seconds resets the back-off
# Exit codes after SIGKILL and SIGTERM.
KILLED, STOPPED = 137, 143
ALWAYS, ON_FAILURE, NEVER = "Always", "OnFailure", "Never"
CREATING, INITIALIZING, CRASHING = "ContainerCreating", "PodInitializing", "CrashLoopBackOff"
_PULL_ERROR, _PULL_PAUSE = "ErrImagePull", "ImagePullBackOff"


class PodEvent(NamedTuple):
    """An event about a container of a pod, or about the pod if `path` is empty."""

    kind: str
    reason: str
    text: str
    path: str = ""


class Moment(NamedTuple):
    """The current time in seconds since the epoch, and in API format."""

    time: float
    text: str


@dataclass(slots=True)
class Step:
    """The new status, events to record, and the time of the next change."""

    status: Object
    events: list[PodEvent] = field(default_factory=list)
    due: float | None = None


@dataclass(frozen=True, slots=True)
class Role:
    """A container within its pod. `restarts` is its restart policy, `lifetime` the seconds until it
    exits by itself, or None."""

    container: Object
    pod: Object
    path: str
    behaviour: ContainerBehaviour
    restarts: str
    lifetime: float | None

    @property
    def name(self) -> str:
        name: str = self.container["name"]
        return name

    def is_over(self, status: Object) -> bool:
        """Whether the container has exited and will not restart, also by its restart rules."""
        end = state_of(status).get("terminated")
        if end is None:
            return False
        rule = matching_rule(self.container, end.get("exitCode") or 0)
        return rule is None and is_over(status, self.restarts)


def lifetime_of(behaviour: ContainerBehaviour, policy: str, *, first: bool) -> float | None:
    """How long a container runs. By default an init container (`first`) exits at once, and a
    container of a pod that is to finish runs one second."""
    if behaviour.exit_after is not None:
        return None if behaviour.exit_after == inf else behaviour.exit_after
    if first:
        return 0.0
    if behaviour.exit_code is not None or policy != ALWAYS:
        return _SHORT_LIFE
    return None


def waiting(role: Role, reason: str, old: Object | None) -> Object:
    """The status of a container that has not started yet."""
    if old is not None:
        return old
    return {
        "name": role.name,
        "state": {"waiting": {"reason": reason}},
        "lastState": {},
        "ready": False,
        "restartCount": 0,
        "image": role.container["image"],
        "imageID": "",
        "started": False,
    }


def state_of(status: Object) -> Object:
    """The state of a container; another client may have written a status without one."""
    state: Object = status.get("state") or {}
    return state


def _time(text: str | None, now: Moment) -> float:
    return now.time if not text or text == now.text else parse_time(text).timestamp()


def is_over(status: Object, restarts: str) -> bool:
    """Whether a container has exited and will not restart."""
    end = state_of(status).get("terminated")
    if end is None:
        return False
    return restarts == NEVER or (restarts == ON_FAILURE and not end.get("exitCode"))


def advance(role: Role, old: Object | None, started: float, now: Moment) -> Step:
    """The next status of a container. `started` is when the pod arrived on its node."""
    state = state_of(old) if old is not None else {}
    if old is not None and "terminated" in state:
        step = Step(old) if role.is_over(old) else _again(role, old, now)
    elif old is not None and "running" in state:
        step = Step(old)
    else:
        step = _begin(role, old, started, now)
    if "running" in state_of(step.status):
        _run(role, step, now)
    return step


def _begin(role: Role, old: Object | None, started: float, now: Moment) -> Step:
    """From waiting to running."""
    if old is not None and is_crashing(old):
        return _again(role, old, now)
    due = started + role.behaviour.start_delay
    if now.time < due:
        return Step(waiting(role, CREATING, old), due=due)
    if role.behaviour.pull_failure:
        return _fail_to_pull(role, old, due, now)
    if role.behaviour.obstacle is not None:
        return _held_up(role, old, role.behaviour.obstacle, now)
    return _start(role, old, now)


def _held_up(role: Role, old: Object | None, obstacle: Obstacle, now: Moment) -> Step:
    """What a container needs is missing; it is tried again soon."""
    state: Object = {"waiting": {"reason": obstacle.reason}}
    if obstacle.reason != CREATING:
        state["waiting"]["message"] = obstacle.text
    before = waiting(role, CREATING, old)
    path = role.path if obstacle.reason != CREATING else ""
    event = PodEvent(WARNING, obstacle.event, obstacle.text, path)
    is_new = old is None or old.get("state") != state
    return Step({**before, "state": state}, [event] if is_new else [], now.time + _RETRY)


def is_crashing(status: Object) -> bool:
    """Whether a container waits for a restart."""
    reason = (state_of(status).get("waiting") or {}).get("reason")
    return bool(reason == CRASHING and (status.get("lastState") or {}).get("terminated"))


def _fail_to_pull(role: Role, old: Object | None, since: float, now: Moment) -> Step:
    failed, changes_in = pull_attempt(now.time - since)
    image = role.container["image"]
    if failed:
        reason, message = _PULL_ERROR, role.behaviour.pull_failure
        messages = [
            PodEvent(NORMAL, "Pulling", f'Pulling image "{image}"', role.path),
            PodEvent(WARNING, "Failed", f'Failed to pull image "{image}": {message}', role.path),
            PodEvent(WARNING, "Failed", f"Error: {reason}", role.path),
        ]
    else:
        reason, message = _PULL_PAUSE, f'Back-off pulling image "{image}"'
        messages = [
            PodEvent(NORMAL, "BackOff", message, role.path),
            PodEvent(WARNING, "Failed", f"Error: {reason}", role.path),
        ]
    state = {"waiting": {"message": message, "reason": reason}}
    before = waiting(role, CREATING, old)
    due = now.time + changes_in
    if before.get("state") == state:
        return Step(before, due=due)
    return Step({**before, "state": state}, messages, due)


def _start(role: Role, old: Object | None, now: Moment, restarts: int = 0) -> Step:
    image = role.container["image"]
    last: Object = {}
    if old is not None:
        state = state_of(old)
        last = state if "terminated" in state else old.get("lastState") or {}
    status = {
        "name": role.name,
        "state": {"running": {"startedAt": now.text}},
        "lastState": last,
        "ready": False,
        "restartCount": restarts,
        "image": full_name(image),
        "imageID": image_id(image),
        "containerID": _container_id(role, restarts),
        "started": True,
    }
    return Step(status, _start_events(role, image))


def _start_events(role: Role, image: str) -> list[PodEvent]:
    if role.container.get("imagePullPolicy") == ALWAYS:
        pulled = [
            PodEvent(NORMAL, "Pulling", f'Pulling image "{image}"', role.path),
            PodEvent(NORMAL, "Pulled", f'Successfully pulled image "{image}" in 0s', role.path),
        ]
    else:
        present = f'Container image "{image}" already present on machine'
        pulled = [PodEvent(NORMAL, "Pulled", present, role.path)]
    return [
        *pulled,
        PodEvent(NORMAL, "Created", f"Created container {role.name}", role.path),
        PodEvent(NORMAL, "Started", f"Started container {role.name}", role.path),
    ]


def _container_id(role: Role, restarts: int) -> str:
    seed = f"{role.pod['metadata']['uid']}/{role.name}/{restarts}"
    return f"simulated://{hashlib.sha256(seed.encode()).hexdigest()}"


def _run(role: Role, step: Step, now: Moment) -> None:
    """Update a running container: ready, or exited."""
    status, behaviour = step.status, role.behaviour
    began = _time(status["state"]["running"].get("startedAt"), now)
    if role.lifetime is not None:
        if now.time >= began + role.lifetime:
            step.status = ended(status, behaviour.exit_code or 0, now)
            step.due = None if role.is_over(step.status) else now.time
            return
        step.due = began + role.lifetime
    ready_at = began + behaviour.ready_after
    ready = not behaviour.never_ready and now.time >= ready_at
    if status.get("ready") != ready:
        step.status = {**status, "ready": ready}
    if ready:
        return
    if behaviour.never_ready:
        if step.events and role.container.get("readinessProbe"):
            text = "Readiness probe failed: the container simulates that it is never ready"
            step.events.append(PodEvent(WARNING, "Unhealthy", text, role.path))
    elif step.due is None or ready_at < step.due:
        step.due = ready_at


def ended(status: Object, code: int, now: Moment) -> Object:
    """The status of a running container that exits now."""
    end = {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": status["state"]["running"].get("startedAt") or now.text,
        "finishedAt": now.text,
        "containerID": status.get("containerID", ""),
    }
    return {**status, "state": {"terminated": end}, "ready": False, "started": False}


def _pause_after(status: Object, end: Object, now: Moment) -> float:
    """The back-off between an exit and the restart."""
    count = status.get("restartCount", 0)
    ran = _time(end.get("finishedAt"), now) - _time(end.get("startedAt"), now)
    return pause_before(count - 1) if count and ran < _LONG_RUN else 0.0


def _again(role: Role, old: Object, now: Moment) -> Step:
    """Restart an exited container after its back-off."""
    crashed = "terminated" in state_of(old)
    end = (old["state"] if crashed else old["lastState"])["terminated"]
    count = old.get("restartCount", 0)
    finished = _time(end.get("finishedAt"), now)
    pause = _pause_after(old, end, now)
    due = finished + pause
    if now.time >= due:
        return _start(role, old, now, count + 1)
    if not crashed:
        return Step(old, due=due)
    text = "Back-off restarting failed container"
    event = PodEvent(WARNING, "BackOff", text, role.path)
    return Step(_crashing(role, old, end, pause), [event], due)


def _crashing(role: Role, old: Object, end: Object, pause: float) -> Object:
    """The status of a container that waits for its restart."""
    metadata = role.pod["metadata"]
    pod_name = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
    message = f"back-off {_text(pause)} restarting failed container={role.name} pod={pod_name}"
    return {
        **old,
        "state": {"waiting": {"message": message, "reason": CRASHING}},
        "lastState": {"terminated": end},
        "ready": False,
        "started": False,
    }


def restarts_all(container: Object, status: Object) -> bool:
    """Whether a container has exited and its restart rule restarts all containers of the pod."""
    end = state_of(status).get("terminated")
    if end is None:
        return False
    rule = matching_rule(container, end.get("exitCode") or 0)
    return rule is not None and rule.get("action") == RESTART_ALL


def restarting(role: Role, status: Object, now: Moment) -> Object:
    """The status of a container that restarts together with its pod; it is killed if it runs."""
    if "running" in state_of(status):
        status = ended(status, KILLED, now)
    end = state_of(status).get("terminated")
    if end is None:
        return status
    return _crashing(role, status, end, _pause_after(status, end, now))


def _text(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


# Images, which are never pulled: full names and simulated pull failures.

_FIRST_PAUSE, _MAX_PAUSE = 10.0, 300.0
_TRYING = 2.0  # seconds for which a failed pull is shown as ErrImagePull


def pause_before(attempt: int) -> float:
    """Seconds between an attempt (counted from 0) and the next."""
    return min(_FIRST_PAUSE * float(1 << min(attempt, 10)), _MAX_PAUSE)


def pull_attempt(elapsed: float) -> tuple[bool, float]:
    """Whether the pull back-off, `elapsed` seconds after the first attempt, is in its error phase
    (True) or pause, and the seconds until that changes."""
    attempt, began = 0, 0.0
    while elapsed >= began + pause_before(attempt):
        began += pause_before(attempt)
        attempt += 1
        if pause_before(attempt) == _MAX_PAUSE:  # constant from here on: skip whole periods
            began += (elapsed - began) // _MAX_PAUSE * _MAX_PAUSE
            break
    if elapsed < began + _TRYING:
        return True, began + _TRYING - elapsed
    return False, began + pause_before(attempt) - elapsed


@memoized(1024)
def full_name(image: str) -> str:
    """An image with registry and tag: `nginx` is `docker.io/library/nginx:latest`."""
    first, slash, _ = image.partition("/")
    if not slash:
        image = f"docker.io/library/{image}"
    elif not any(sign in first for sign in ".:") and first != "localhost":
        image = f"docker.io/{image}"
    return image if "@" in image or ":" in image.rpartition("/")[2] else f"{image}:latest"


@memoized(1024)
def image_id(image: str) -> str:
    """A stable image ID; derived from the name, since there is no content."""
    name = full_name(image)
    if "@" in name:
        return name
    repository = name.rpartition(":")[0]
    return f"{repository}@sha256:{hashlib.sha256(name.encode()).hexdigest()}"
