"""Selects the containers whose logs are requested, and streams their logs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from fairlead.base.terminal import printable
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.client import Resource
from fairlead.client.session import Request

Object = dict[str, Any]

# The container lists of a pod spec, and the suffix of their names in messages.
_LISTS = {"initContainers": " (init)", "containers": "", "ephemeralContainers": " (ephem)"}
_BY_LABELS = ("ReplicationController", "Service")
_BY_SELECTOR = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
_PHASES = ("Running", "Unknown", "Pending")
_READY = ("Ready", "True")
DEFAULT = "kubectl.@/default-container"  # annotation that names the default container


class Stream(NamedTuple):
    """The log of one container."""

    pods: Resource
    namespace: str
    pod: str
    container: str

    @property
    def title(self) -> str:
        return f"pod/{self.pod}/{self.container}"

    async def pieces(self, query: Mapping[str, Any]) -> AsyncGenerator[bytes, None]:
        """Yield the log in chunks as they arrive; raises ApiError and Unreachable."""
        path = self.pods.path(self.pod, self.namespace, "log")
        asked = {**query, "container": self.container}
        request = Request("GET", path, asked, accept="*/*")
        async with self.pods.session.open(request) as answer, aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                yield piece


async def pods_of(at: Invocation, word: str, namespace: str, patience: float) -> list[Object]:
    """The pod of this name, or the best pod of an object that selects pods; raises Mistake and
    ApiError."""
    kind, slash, name = word.partition("/")
    if "/" in name:
        raise CommandError("KIND/NAME has one slash")
    resource = await at.client.resource(kind if slash else "pods")
    value = await resource.get(name if slash else word, namespace)
    if resource.type.kind == "Pod" and not resource.type.group:
        return [value]
    pods = await at.client.resource("pods")
    return [await _first(at, pods, namespace, _selector(value), patience)]


def _selector(value: Object) -> str:
    """The label selector of the pods of an object; raises Mistake."""
    kind, spec = value["kind"], value.get("spec") or {}
    version = value["apiVersion"].rpartition("/")[2]
    said = f"a {kind} ({version}) has no logs"
    if kind in _BY_SELECTOR:
        return _written(spec.get("selector") or {})
    if kind not in _BY_LABELS:
        raise CommandError(f"{said}: selector for *{version}.{kind} not implemented")
    labels = spec.get("selector") or {}
    if not labels:
        name = value["metadata"]["name"]
        raise CommandError(
            f"{said}: invalid {kind.lower()} '{name}': {kind} is defined without a selector"
        )
    return _written({"matchLabels": labels})


def _written(selector: Mapping[str, Any]) -> str:
    """The selector in the syntax of the labelSelector parameter."""
    parts = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for one in selector.get("matchExpressions") or ():
        key, values = one["key"], ",".join(one.get("values") or ())
        parts.append(
            {
                "In": f"{key} in ({values})",
                "NotIn": f"{key} notin ({values})",
                "Exists": key,
                "DoesNotExist": f"!{key}",
            }[one["operator"]]
        )
    return ",".join(parts)


async def _first(
    at: Invocation, pods: Resource, namespace: str, selector: str, patience: float
) -> Object:
    """The pod most likely to have logs. If there is none, waits up to `patience` seconds for the
    first."""
    found = (await pods.list(namespace, labelSelector=selector))["items"]
    if not found:
        watch = pods.watch(namespace, labelSelector=selector, timeout=patience)
        async for event in watch:
            return event.object
        raise CommandError("no pod appeared within --pod-running-timeout")
    first: Object = min(found, key=_order)
    if len(found) > 1:
        name = printable(first["metadata"]["name"])
        at.screen.warn(f"These are {len(found)} pods; the logs are those of pod/{name}")
    return first


def _order(pod: Object) -> tuple[Any, ...]:
    """Sort key: scheduled, running, ready, ready for longest, most restarts, oldest first."""
    status = pod.get("status") or {}
    conditions = status.get("conditions") or ()
    ready = [one for one in conditions if (one.get("type"), one.get("status")) == _READY]
    restarts = [one.get("restartCount") or 0 for one in status.get("containerStatuses") or ()]
    phase = status.get("phase")
    return (
        not (pod.get("spec") or {}).get("nodeName"),
        _PHASES.index(phase) if phase in _PHASES else 0,
        not ready,
        ready[0].get("lastTransitionTime") or "" if ready else "",
        -max(restarts, default=0),
        pod["metadata"].get("creationTimestamp") or "",
    )


def streams_of(
    at: Invocation, pods: Resource, pod: Object, container: str, all_containers: bool, default: str
) -> Iterator[Stream]:
    """The requested containers of a pod; `default` is the annotation that names the default
    container. Raises Mistake."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    named = [
        (str(one["name"]), note) for part, note in _LISTS.items() for one in spec.get(part) or ()
    ]
    names = [name for name, _ in named]
    if all_containers:
        wanted: Sequence[str] = names
    elif container:
        if container not in names:
            raise CommandError(f"the pod {metadata['name']} has no container {container}")
        wanted = [container]
    else:
        wanted = [_default(at, spec, named, (metadata.get("annotations") or {}).get(default))]
    for name in wanted:
        yield Stream(pods, metadata.get("namespace") or "", metadata["name"], name)


def _default(
    at: Invocation, spec: Object, named: Sequence[tuple[str, str]], annotated: str | None
) -> str:
    if annotated is not None and annotated in dict(named):
        return annotated
    first = str(spec["containers"][0]["name"])
    if len(named) > 1:
        ordered = sorted(named, key=lambda one: one[1])  # regular containers first
        listed = ", ".join(f"{name}{note}" for name, note in ordered)
        at.screen.warn(printable(f"The logs are those of container {first}; all are {listed}"))
    return first
