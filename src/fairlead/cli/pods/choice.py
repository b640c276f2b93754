"""Chooses the pod and the container that a command is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairlead.base.terminal import printable
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.client import Resource

Object = dict[str, Any]
# The container lists of a pod spec, and the suffix of their names in messages.
LISTS = {"initContainers": " (init)", "containers": "", "ephemeralContainers": " (ephem)"}
_BY_LABELS = ("ReplicationController", "Service")
_BY_SELECTOR = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
_PHASES = ("Running", "Unknown", "Pending")
_READY = ("Ready", "True")
_DEFAULT = "kubectl.@/default-container"  # annotation that names the default container


class Wording(NamedTuple):
    """How messages tell what a kind has not, and which pod or container is taken."""

    lacking: str
    taken: str


LOGS = Wording("has no logs", "the logs are those of")
USE = Wording("has no pods of its own", "the one in use is")


async def pod_of(
    invocation: Invocation, word: str, namespace: str, patience: float, wording: Wording = USE
) -> Object:
    """The pod of this name, or the best pod of an object that selects pods; raises CommandError and
    ApiError."""
    value = await _named(invocation, word, namespace)
    if _is_pod(value):
        return value
    pods = await invocation.client.resource("pods")
    return await _first(invocation, pods, namespace, _selector(value, wording), patience, wording)


async def pods_of(
    invocation: Invocation, word: str, namespace: str, wording: Wording = USE
) -> list[Object]:
    """The pod of this name, or all pods that an object selects; raises CommandError and
    ApiError."""
    value = await _named(invocation, word, namespace)
    if _is_pod(value):
        return [value]
    pods = await invocation.client.resource("pods")
    listed = await pods.list(namespace, labelSelector=_selector(value, wording))
    return list(listed["items"])


async def _named(invocation: Invocation, word: str, namespace: str) -> Object:
    """The object of `POD` or `KIND/NAME`."""
    kind, slash, name = word.partition("/")
    if "/" in name:
        raise CommandError("KIND/NAME has one slash")
    resource = await invocation.client.resource(kind if slash else "pods")
    return await resource.get(name if slash else word, namespace)


def _is_pod(value: Object) -> bool:
    return (value["kind"], value["apiVersion"]) == ("Pod", "v1")


def _selector(value: Object, wording: Wording) -> str:
    """The label selector of the pods of an object; raises CommandError."""
    kind, spec = value["kind"], value.get("spec") or {}
    version = value["apiVersion"].rpartition("/")[2]
    message = f"a {kind} ({version}) {wording.lacking}"
    if kind in _BY_SELECTOR:
        return _written(spec.get("selector") or {})
    if kind not in _BY_LABELS:
        raise CommandError(f"{message}: selector for *{version}.{kind} not implemented")
    labels = spec.get("selector") or {}
    if not labels:
        name = value["metadata"]["name"]
        raise CommandError(
            f"{message}: invalid {kind.lower()} '{name}': {kind} is defined without a selector"
        )
    return _written({"matchLabels": labels})


def _written(selector: Mapping[str, Any]) -> str:
    """The selector in the syntax of the labelSelector parameter."""
    parts = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        key, values = expression["key"], ",".join(expression.get("values") or ())
        parts.append(
            {
                "In": f"{key} in ({values})",
                "NotIn": f"{key} notin ({values})",
                "Exists": key,
                "DoesNotExist": f"!{key}",
            }[expression["operator"]]
        )
    return ",".join(parts)


async def _first(
    invocation: Invocation,
    pods: Resource,
    namespace: str,
    selector: str,
    patience: float,
    wording: Wording,
) -> Object:
    """The pod that has come furthest. If there is none, waits up to `patience` seconds for the
    first."""
    items = (await pods.list(namespace, labelSelector=selector))["items"]
    if not items:
        watch = pods.watch(namespace, labelSelector=selector, timeout=patience)
        async for event in watch:
            return event.object
        raise CommandError("no pod appeared within --pod-running-timeout")
    first: Object = min(items, key=_order)
    if len(items) > 1:
        name = printable(first["metadata"]["name"])
        invocation.screen.warn(f"These are {len(items)} pods; {wording.taken} pod/{name}")
    return first


def _order(pod: Object) -> tuple[Any, ...]:
    """Sort key: scheduled, running, ready, ready for longest, most restarts, oldest first."""
    status = pod.get("status") or {}
    conditions = status.get("conditions") or ()
    ready = [
        condition
        for condition in conditions
        if (condition.get("type"), condition.get("status")) == _READY
    ]
    restarts = [
        container_status.get("restartCount") or 0
        for container_status in status.get("containerStatuses") or ()
    ]
    phase = status.get("phase")
    return (
        not (pod.get("spec") or {}).get("nodeName"),
        _PHASES.index(phase) if phase in _PHASES else 0,
        not ready,
        ready[0].get("lastTransitionTime") or "" if ready else "",
        -max(restarts, default=0),
        pod["metadata"].get("creationTimestamp") or "",
    )


def named_containers(pod: Object) -> list[tuple[str, str]]:
    """The names of the containers of a pod, each with a note on its kind."""
    spec = pod.get("spec") or {}
    return [
        (str(container["name"]), note)
        for part, note in LISTS.items()
        for container in spec.get(part) or ()
    ]


async def container_of(
    invocation: Invocation, pod: Object, named: str = "", wording: Wording = USE
) -> str:
    """The container of this name, or the default container. Raises CommandError."""
    containers = named_containers(pod)
    if named:
        if named not in dict(containers):
            raise CommandError(f"the pod {pod['metadata']['name']} has no container {named}")
        return named
    annotation = (await invocation.client.discovery.dialect()).label(_DEFAULT)
    annotated = (pod["metadata"].get("annotations") or {}).get(annotation)
    if annotated is not None and annotated in dict(containers):
        return str(annotated)
    first = str(pod["spec"]["containers"][0]["name"])
    if len(containers) > 1 and not getattr(invocation.options, "quiet", False):
        ordered = sorted(containers, key=lambda entry: entry[1])  # regular containers first
        listed = ", ".join(f"{name}{note}" for name, note in ordered)
        taken = f"{wording.taken[:1].upper()}{wording.taken[1:]}"
        invocation.screen.warn(printable(f"{taken} container {first}; all are {listed}"))
    return first


def status_of(pod: Object, container: str) -> Object | None:
    """The status of a container, None if there is none yet."""
    status = pod.get("status") or {}
    for part in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for entry in status.get(part) or ():
            if entry.get("name") == container:
                found: Object = entry
                return found
    return None
