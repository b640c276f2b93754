"""The pods of a node that a drain removes, and those that keep it from being drained."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.cli.arguments import Options
from fairlead.cli.invocation import Invocation
from fairlead.client import Resource
from fairlead.client.errors import NotFound
from fairlead.codec.types.times import parse_time

Object = dict[str, Any]
_DAEMON_SET = "DaemonSet"
_FINISHED = ("Succeeded", "Failed")


class DrainedPods(NamedTuple):
    """The pods to remove, and texts about pods by what they hold up or lose."""

    removed: list[Object]
    problems: dict[str, list[str]]
    warnings: dict[str, list[str]]


async def pods_to_drain(invocation: Invocation, pods: Resource, node: str) -> DrainedPods:
    """Raises ApiError."""
    options = invocation.options
    query: dict[str, Any] = {"fieldSelector": f"spec.nodeName={node}"}
    if options.pod_selector:
        query["labelSelector"] = options.pod_selector
    listed = await pods.list("", **query)
    found = DrainedPods([], {}, {})
    sorting = _Sorting(invocation, await invocation.client.discovery.dialect())
    for pod in listed["items"]:
        if _is_gone_soon(pod, options.skip_wait_for_delete_timeout):
            continue
        problem, warning, is_removed = await sorting.judge(pod)
        if problem:
            found.problems.setdefault(problem, []).append(title(pod))
        elif warning:
            found.warnings.setdefault(warning, []).append(title(pod))
        if is_removed:
            found.removed.append(pod)
    return found


def title(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _is_gone_soon(pod: Object, seconds: int) -> bool:
    """Whether the pod has been in deletion for longer than these seconds, if they are given."""
    since = pod["metadata"].get("deletionTimestamp")
    if not since or seconds <= 0:
        return False
    age = datetime.now(UTC) - parse_time(since)
    return age.total_seconds() > seconds


class _Sorting:
    """Decides about each pod."""

    def __init__(self, invocation: Invocation, dialect: Dialect) -> None:
        self._client = invocation.client
        self._options: Options = invocation.options
        self._mirror = dialect.label("@/config.mirror")
        self._is_there: dict[tuple[str, str], bool] = {}

    async def judge(self, pod: Object) -> tuple[str, str, bool]:
        """What keeps the pod, what to say of it, and whether it is removed."""
        options = self._options
        metadata, spec = pod["metadata"], pod.get("spec") or {}
        if self._mirror in (metadata.get("annotations") or {}):
            return "", "", False
        is_finished = (pod.get("status") or {}).get("phase") in _FINISHED
        owner = _controller(metadata)
        warning = ""
        if owner.get("kind") == _DAEMON_SET and not is_finished:
            if await self._exists(metadata["namespace"], str(owner.get("name"))):
                if not options.ignore_daemonsets:
                    return "of DaemonSets (--ignore-daemonsets leaves them)", "", False
                return "", "ignoring pods of DaemonSets", False
            if not options.force:
                return "of DaemonSets that are gone (--force deletes them)", "", False
            warning = "deleting pods of DaemonSets that are gone"
        if any("emptyDir" in volume for volume in spec.get("volumes") or ()) and not is_finished:
            if not options.delete_emptydir_data:
                return "with local data (--delete-emptydir-data deletes it)", "", False
            warning = warning or "deleting pods with local data"
        if not owner and not is_finished:
            if not options.force:
                return "without a controller (--force deletes them for good)", "", False
            warning = "deleting pods without a controller"
        return "", warning, True

    async def _exists(self, namespace: str, name: str) -> bool:
        key = namespace, name
        if key not in self._is_there:
            daemon_sets = await self._client.resource("daemonsets.apps")
            try:
                await daemon_sets.get(name, namespace)
                self._is_there[key] = True
            except NotFound:
                self._is_there[key] = False
        return self._is_there[key]


def _controller(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """The owner that controls the pod; empty if there is none."""
    owners = metadata.get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), {})
