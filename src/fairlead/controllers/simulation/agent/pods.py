"""The state machine of a pod: advances its containers in order and derives phase and conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fairlead.codec.types.times import parse_time
from fairlead.controllers.pod_status import observed_generation
from fairlead.controllers.simulation.agent.containers import (
    ALWAYS,
    CREATING,
    INITIALIZING,
    NEVER,
    ON_FAILURE,
    Moment,
    PodEvent,
    Role,
    Step,
    advance,
    counts_generations,
    end_running,
    lifetime_of,
    restarting,
    restarts_all,
    state_of,
    waiting,
)
from fairlead.controllers.simulation.agent.containers import (
    FAMILIES as FAMILIES,
)
from fairlead.controllers.simulation.agent.endings import cut_off
from fairlead.controllers.simulation.agent.pod_conditions import pod_conditions
from fairlead.controllers.simulation.agent.reported_resources import (
    report_containers,
    report_totals,
)
from fairlead.controllers.simulation.agent.resizes import (
    RETRY,
    Deferral,
    carried_out,
    changes_of,
    report,
)
from fairlead.controllers.simulation.behaviour import PodBehaviour
from fairlead.controllers.simulation.given_resources import with_given
from fairlead.controllers.simulation.runtime.lifetimes import is_server
from fairlead.operations.api import Object
from fairlead.resources.core.pods import FINISHED
from fairlead.resources.core.pods.restarts import all_may_restart
from fairlead.resources.core.pods.totals import is_sidecar

_LATE = "Pod was active on the node longer than the specified deadline"


@dataclass(slots=True)
class PodProgress:
    """The new status of a pod, events to record, and the time of the next change. `revision` is
    that of the pod with this status, if it was written as planned. `outlived`: the pod has
    finished, and containers run on."""

    status: Object
    events: list[PodEvent] = field(default_factory=list)
    due: float | None = None
    revision: str = ""
    outlived: bool = False

    @property
    def only_runs(self) -> bool:
        """Whether the pod runs, and time changes nothing."""
        return self.due is None and self.status.get("phase") == "Running"

    def take(self, step: Step) -> Object:
        self.events += step.events
        self.look_at(step.due)
        return step.status

    def look_at(self, due: float | None) -> None:
        if due is not None and (self.due is None or due < self.due):
            self.due = due


@dataclass(frozen=True, slots=True)
class Host:
    """The node's address, and a function that allocates one for the pod (None if the pool is
    exhausted). `is_reported`: a condition says whether the pod has its network. `reports_totals`:
    the status tells the resources of the pod as a whole. `defers` says why the node has no room for
    a pod on it that is to be resized."""

    host: str
    address: Callable[[], str | None]
    is_reported: bool = False
    reports_totals: bool = False
    defers: Callable[[Object], Deferral | None] = lambda pod: None


def roles_of(pod: Object, family: str, behaviour: PodBehaviour) -> list[Role]:
    """The containers of a spec field (`containers`, ...) with their behaviour."""
    policy = pod["spec"].get("restartPolicy", ALWAYS)
    first = family == "initContainers"
    restarts = policy
    if first and policy == ALWAYS:
        restarts = ON_FAILURE
    elif family == "ephemeralContainers":
        restarts = NEVER
    roles = []
    for container in pod["spec"].get(family) or ():
        own = behaviour.of(container["name"])
        lasts = family == "ephemeralContainers" or is_server(pod, container)
        if first and is_sidecar(container):
            lifetime = lifetime_of(own, ALWAYS, first=False)
        else:
            lifetime = lifetime_of(own, ALWAYS if lasts else policy, first=first)
        path = f"spec.{family}{{{container['name']}}}"
        own_restarts = container.get("restartPolicy", restarts)
        roles.append(Role(container, pod, path, own, own_restarts, lifetime))
    return roles


def advance_pod(pod: Object, behaviour: PodBehaviour, host: Host, now: Moment) -> PodProgress:
    """The next status of a pod that has not finished."""
    if all_may_restart(pod["spec"]):
        pod = _restarted(pod, behaviour, now)
    old = pod["status"]
    since = old.get("startTime") or now.text
    started = now.time if since == now.text else parse_time(since).timestamp()
    progress = PodProgress({**old, "startTime": since, "hostIP": host.host})
    if counts_generations(pod):
        progress.status["hostIPs"] = [{"ip": host.host}]
        progress.status |= observed_generation(pod)
    deadline = pod["spec"].get("activeDeadlineSeconds")
    if deadline is not None and now.time >= started + deadline:
        cut_off(pod, progress.status, "DeadlineExceeded", _LATE, host.is_reported, now)
        return progress
    if deadline is not None:
        progress.look_at(started + deadline)
    arrived = pod
    pod, deferral = _resized(pod, behaviour, host, progress, now)
    unfinished, failed = _prepare(pod, behaviour, progress, started, now)
    _carry_on(pod, behaviour, progress, started, now, held_up=bool(unfinished))
    status = progress.status
    phase = "Failed" if failed else _phase(pod, status, behaviour)
    status["phase"] = phase
    if phase in FINISHED:
        _end_rest(status, behaviour, progress, now)
    _give_address(pod, status, host)
    if counts_generations(pod):
        given = with_given(pod) if deferral else pod
        report_containers(given, status)
        if host.reports_totals and ("resources" not in status or pod is not arrived):
            report_totals(given, status)
    status["conditions"] = pod_conditions(pod, status, unfinished, host.is_reported, now.text)
    if progress.outlived:
        status["phase"] = "Pending" if unfinished else "Running"
    progress.events += report(pod, status, deferral, now)
    return progress


def _end_rest(status: Object, behaviour: PodBehaviour, progress: PodProgress, now: Moment) -> None:
    """End the containers that run on in a pod that has finished, such as sidecars, when it is time;
    modifies `status`."""
    codes: dict[str, int] = {}
    for each in (item for _, list_name in FAMILIES for item in status.get(list_name) or ()):
        if "running" not in state_of(each):
            continue
        kill = behaviour.ends.get(each["name"])
        if kill is not None and kill.end <= now.time:
            codes[each["name"]] = kill.code
        else:
            progress.outlived = True
            progress.look_at(None if kill is None else kill.end)
    if codes:
        end_running(status, codes.get, now)


def _had_finished(pod: Object, behaviour: PodBehaviour) -> bool:
    """Whether a pod with sidecars has finished before: they are not started again."""
    if not any(map(is_sidecar, pod["spec"].get("initContainers") or ())):
        return False
    status = pod["status"]
    if status.get("containerStatuses") and _phase(pod, status, behaviour) in FINISHED:
        return True
    by_name = _by_name(status.get("initContainerStatuses"))
    return any(
        _has_failed(role, by_name[role.name])
        for role in roles_of(pod, "initContainers", behaviour)
        if role.name in by_name and not is_sidecar(role.container)
    )


def _has_failed(role: Role, status: Object) -> bool:
    end = state_of(status).get("terminated")
    return bool(end is not None and end.get("exitCode") and role.is_over(status))


def _resized(
    pod: Object, behaviour: PodBehaviour, host: Host, progress: PodProgress, now: Moment
) -> tuple[Object, Deferral | None]:
    """The pod after the resize that its spec asks for, or why that is deferred."""
    changes = changes_of(pod) if counts_generations(pod) else {}
    if not changes:
        return pod, None
    deferral = host.defers(pod)
    if deferral is not None:
        progress.look_at(now.time + RETRY)
        return pod, deferral
    families = FAMILIES[:2]
    roles = {role.name: role for family, _ in families for role in roles_of(pod, family, behaviour)}
    pod, events = carried_out(pod, changes, roles, now)
    progress.events += events
    return pod, None


def _restarted(pod: Object, behaviour: PodBehaviour, now: Moment) -> Object:
    """The pod with all its containers waiting for a restart, if the restart rule of a container
    that exited requires it; else the same pod."""
    families = FAMILIES[:2]
    roles = {role.name: role for family, _ in families for role in roles_of(pod, family, behaviour)}
    known = {
        list_name: [item for item in pod["status"].get(list_name) or () if item["name"] in roles]
        for _, list_name in families
    }
    if not any(
        restarts_all(roles[item["name"]].container, item)
        for each in known.values()
        for item in each
    ):
        return pod
    statuses = {
        list_name: [restarting(roles[item["name"]], item, now) for item in items]
        for list_name, items in known.items()
    }
    return {**pod, "status": {**pod["status"], **statuses}}


def _prepare(
    pod: Object, behaviour: PodBehaviour, progress: PodProgress, started: float, now: Moment
) -> tuple[list[str], bool]:
    """Advance init containers one after the other. Returns the names of those not completed, and
    whether one has failed for good."""
    by_name = _by_name(pod["status"].get("initContainerStatuses"))
    had_finished = _had_finished(pod, behaviour)
    unfinished: list[str] = []
    failed, statuses = False, []
    for role in roles_of(pod, "initContainers", behaviour):
        before = by_name.get(role.name)
        if had_finished and is_sidecar(role.container):
            statuses.append(waiting(role, INITIALIZING, before))
            continue
        if unfinished:
            statuses.append(waiting(role, INITIALIZING, before))
            unfinished.append(role.name)
            continue
        status = progress.take(advance(role, before, started, now))
        statuses.append(status)
        if is_sidecar(role.container):
            if "running" not in state_of(status) or not status.get("started"):
                unfinished.append(role.name)
            continue
        end = state_of(status).get("terminated")
        if end is None or end.get("exitCode"):
            unfinished.append(role.name)
            failed = _has_failed(role, status)
        elif not status.get("ready"):
            statuses[-1] = {**status, "ready": True}  # a completed one stays ready
    if statuses:
        progress.status["initContainerStatuses"] = statuses
    return unfinished, failed


def _carry_on(
    pod: Object,
    behaviour: PodBehaviour,
    progress: PodProgress,
    started: float,
    now: Moment,
    *,
    held_up: bool,
) -> None:
    for family, list_name in FAMILIES[1:]:
        roles = roles_of(pod, family, behaviour)
        if not roles:
            continue
        by_name = _by_name(pod["status"].get(list_name))
        if held_up:
            statuses = [waiting(role, INITIALIZING, by_name.get(role.name)) for role in roles]
        else:
            statuses = [
                progress.take(advance(role, by_name.get(role.name), started, now)) for role in roles
            ]
        progress.status[list_name] = statuses


def _by_name(statuses: Sequence[Object] | None) -> dict[str, Object]:
    return {container_status["name"]: container_status for container_status in statuses or ()}


def _phase(pod: Object, status: Object, behaviour: PodBehaviour) -> str:
    statuses = status["containerStatuses"]
    if any(_is_unstarted(container_status) for container_status in statuses):
        return "Pending"
    roles = {role.name: role for role in roles_of(pod, "containers", behaviour)}
    if not all(roles[item["name"]].is_over(item) for item in statuses if item["name"] in roles):
        return "Running"
    codes = [
        container_status["state"]["terminated"].get("exitCode") for container_status in statuses
    ]
    return "Failed" if any(codes) else "Succeeded"


def _is_unstarted(status: Object) -> bool:
    return "waiting" in state_of(status) and not status.get("lastState")


def _has_sandbox(status: Object) -> bool:
    """Whether a container has been started or a pull attempted."""
    statuses = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    reasons = (
        (state_of(container_status).get("waiting") or {}).get("reason")
        for container_status in statuses
    )
    return any(reason not in (CREATING, INITIALIZING) for reason in reasons)


def _give_address(pod: Object, status: Object, host: Host) -> None:
    if status.get("podIP") or not _has_sandbox(status):
        return
    shared = pod["spec"].get("hostNetwork")
    address = host.host if shared else host.address()
    if address is not None:
        status["podIP"] = address
        status["podIPs"] = [{"ip": address}]
