"""The state machine of one container: pure functions from one status to the next.

All state is in the stored status, so a restarted server continues where it stopped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from fairlead.codec.types.times import parse_time
from fairlead.controllers.events import NORMAL, WARNING
from fairlead.controllers.simulation.agent.images import (
    full_name,
    image_id,
    pause_before,
    pull_attempt,
)
from fairlead.controllers.simulation.behaviour import ContainerBehaviour, HookRun, Obstacle
from fairlead.operations.api import Object
from fairlead.resources.core.pods.restarts import RESTART_ALL, matching_rule

_SHORT_LIFE = 1.0  # seconds that a container runs if it is to exit by itself
_RETRY = 2.0  # seconds until a container is tried again for which something was missing
_LOOK = 0.2  # seconds after which a command is looked at again, at least
_LONG_RUN = 600.0  # a run of this many seconds resets the back-off
# Exit codes after SIGKILL and SIGTERM.
KILLED, STOPPED = 137, 143
ALWAYS, ON_FAILURE, NEVER = "Always", "OnFailure", "Never"
CREATING, INITIALIZING, CRASHING = "ContainerCreating", "PodInitializing", "CrashLoopBackOff"
_PULL_ERROR, _PULL_PAUSE = "ErrImagePull", "ImagePullBackOff"

# The containers of a pod, in its spec and in its status.
FAMILIES = (
    ("initContainers", "initContainerStatuses"),
    ("containers", "containerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
)


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


def counts_generations(pod: Object) -> bool:
    """Whether a pod is of a release that counts generations of pods: 1.36."""
    return "generation" in pod["metadata"]


def state_of(status: Object) -> Object:
    """The state of a container; another client may have written a status without one."""
    state: Object = status.get("state") or {}
    return state


def status_of(pod: Object, container: str) -> Object:
    """The status of a container, empty if there is none."""
    for _, family in FAMILIES:
        for each in pod["status"].get(family) or ():
            if each["name"] == container:
                found: Object = each
                return found
    return {}


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
    return _start(role, old, now, old.get("restartCount", 0) if old is not None else 0)


def _held_up(role: Role, old: Object | None, obstacle: Obstacle, now: Moment) -> Step:
    """What a container needs is missing; it is tried again soon."""
    state: Object = {"waiting": {"reason": obstacle.reason}}
    if obstacle.reason != CREATING:
        state["waiting"]["message"] = obstacle.text.removeprefix("Error: ")
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
        "started": role.behaviour.health.is_started,
    }
    if role.behaviour.post_start is not None:
        return _after_hook(role, old, status, role.behaviour.post_start(status), now)
    return Step(status, _start_events(role, image))


def restart(role: Role, status: Object, now: Moment) -> Step:
    """Kill a running container and start it again at once."""
    return _start(role, ended(status, KILLED, now), now, status.get("restartCount", 0) + 1)


def _after_hook(role: Role, old: Object | None, status: Object, hook: HookRun, now: Moment) -> Step:
    """A container does not count as running before its postStart hook has ended."""
    end = hook.kill.end if hook.kill is not None else hook.end
    if now.time < end:
        return Step(waiting(role, CREATING, old), due=end if end < inf else None)
    events = _start_events(role, role.container["image"])
    status["state"] = {"running": {"startedAt": hook.began_text}}
    if hook.kill is None:
        return Step(status, events)
    events += [
        PodEvent(WARNING, "FailedPostStartHook", "PostStartHook failed", role.path),
        PodEvent(NORMAL, "Killing", "FailedPostStartHook", role.path),
    ]
    stopped = ended(status, hook.kill.code, now)
    return Step(stopped, events, None if role.is_over(stopped) else now.time)


def _start_events(role: Role, image: str) -> list[PodEvent]:
    if role.container.get("imagePullPolicy") == ALWAYS:
        pulled = [
            PodEvent(NORMAL, "Pulling", f'Pulling image "{image}"', role.path),
            PodEvent(NORMAL, "Pulled", f'Successfully pulled image "{image}" in 0s', role.path),
        ]
    else:
        present = f'Container image "{image}" already present on machine'
        pulled = [PodEvent(NORMAL, "Pulled", present, role.path)]
    created, started = f"Created container {role.name}", f"Started container {role.name}"
    if counts_generations(role.pod):
        created, started = "Container created", "Container started"
    return [
        *pulled,
        PodEvent(NORMAL, "Created", created, role.path),
        PodEvent(NORMAL, "Started", started, role.path),
    ]


def _container_id(role: Role, restarts: int) -> str:
    seed = f"{role.pod['metadata']['uid']}/{role.name}/{restarts}"
    return f"simulated://{hashlib.sha256(seed.encode()).hexdigest()}"


def _run(role: Role, step: Step, now: Moment) -> None:
    """Update a running container: ready, or exited."""
    status, behaviour = step.status, role.behaviour
    health = behaviour.health
    began = _time(status["state"]["running"].get("startedAt"), now)
    if health.kill is not None:
        if now.time >= health.kill.end:
            step.status = ended(status, health.kill.code, now)
            step.due = None if role.is_over(step.status) else now.time
            return
        step.due = health.kill.end
    if role.lifetime is not None:
        if now.time >= began + role.lifetime:
            step.status = ended(status, behaviour.exit_code or 0, now, behaviour.message)
            step.due = None if role.is_over(step.status) else now.time
            return
        step.due = min(began + role.lifetime, step.due or inf)
    if behaviour.looks_at is not None:
        step.due = min(max(behaviour.looks_at, now.time + _LOOK), step.due or inf)
    ready_at = began + behaviour.ready_after
    is_due = not behaviour.never_ready and now.time >= ready_at
    ready = is_due and health.is_ready
    if (status.get("ready"), status.get("started")) != (ready, health.is_started):
        step.status = {**status, "ready": ready, "started": health.is_started}
    if is_due:
        return
    if behaviour.never_ready:
        if step.events and role.container.get("readinessProbe"):
            text = "Readiness probe failed: the container simulates that it is never ready"
            step.events.append(PodEvent(WARNING, "Unhealthy", text, role.path))
    elif step.due is None or ready_at < step.due:
        step.due = ready_at


def ended(status: Object, code: int, now: Moment, message: str = "") -> Object:
    """The status of a running container that exits now."""
    end = {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": status["state"]["running"].get("startedAt") or now.text,
        "finishedAt": now.text,
        "containerID": status.get("containerID", ""),
    }
    if message:
        end["message"] = message
    return {**status, "state": {"terminated": end}, "ready": False, "started": False}


def end_running(status: Object, code_of: Callable[[str], int | None], now: Moment) -> None:
    """End the running containers of a pod that have a code; modifies its `status`."""
    for _, list_name in FAMILIES:
        if status.get(list_name):
            status[list_name] = [_ended_with(code_of, each, now) for each in status[list_name]]


def _ended_with(code_of: Callable[[str], int | None], status: Object, now: Moment) -> Object:
    code = code_of(status["name"]) if "running" in state_of(status) else None
    return status if code is None else ended(status, code, now)


def ran_long(end: Object, now: Moment) -> bool:
    """Whether a container that exited has run so long that its back-off begins anew."""
    return _time(end.get("finishedAt"), now) - _time(end.get("startedAt"), now) >= _LONG_RUN


def _pause_after(role: Role, status: Object, end: Object, now: Moment) -> float:
    """The back-off between an exit and the restart."""
    count = status.get("restartCount", 0) - role.behaviour.forgiven
    return pause_before(count - 1) if count > 0 and not ran_long(end, now) else 0.0


def _again(role: Role, old: Object, now: Moment) -> Step:
    """Restart an exited container after its back-off."""
    crashed = "terminated" in state_of(old)
    end = (old["state"] if crashed else old["lastState"])["terminated"]
    count = old.get("restartCount", 0)
    finished = _time(end.get("finishedAt"), now)
    pause = _pause_after(role, old, end, now)
    due = finished + pause
    if now.time >= due:
        return _start(role, old, now, count + 1)
    if not crashed:
        return Step(old, due=due)
    text = "Back-off restarting failed container"
    if counts_generations(role.pod):
        text += f" {role.name} in pod {_full_name(role.pod)}"
    event = PodEvent(WARNING, "BackOff", text, role.path)
    return Step(_crashing(role, old, end, pause), [event], due)


def _crashing(role: Role, old: Object, end: Object, pause: float) -> Object:
    """The status of a container that waits for its restart."""
    pod_name = _full_name(role.pod)
    message = f"back-off {_text(pause)} restarting failed container={role.name} pod={pod_name}"
    return {
        **old,
        "state": {"waiting": {"message": message, "reason": CRASHING}},
        "lastState": {"terminated": end},
        "ready": False,
        "started": False,
    }


def _full_name(pod: Object) -> str:
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"


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
    return _crashing(role, status, end, _pause_after(role, status, end, now))


def _text(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
