"""Evaluates the podFailurePolicy of a Job."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.controllers.workloads.pods import Pod
from fairlead.operations.api import Object

IGNORE, FAIL, FAIL_INDEX = "Ignore", "FailJob", "FailIndex"


class FailurePolicy:
    """The rules of a policy; the first that matches a pod applies. Without rules every failure
    counts."""

    def __init__(self, policy: Object | None) -> None:
        self._rules: list[Object] = (policy or {}).get("rules") or []

    def counts(self, pod: Pod) -> bool:
        """Whether a failed pod counts towards backoffLimit."""
        return self._decision(pod)[0] != IGNORE

    def fails_index(self, pod: Pod) -> bool:
        """Whether a failed pod fails its index at once."""
        return self._decision(pod)[0] == FAIL_INDEX

    def failure_of_job(self, pods: Iterable[Pod]) -> str:
        """Why failed pods fail the whole Job; empty if they do not."""
        for pod in pods if self._rules else ():
            action, why = self._decision(pod)
            if action == FAIL:
                return why
        return ""

    def _decision(self, pod: Pod) -> tuple[str, str]:
        if not self._rules:
            return "", ""
        status = pod.version.object().get("status") or {}
        for index, rule in enumerate(self._rules):
            match_text = _match(rule, pod, status)
            if match_text:
                return rule[
                    "action"
                ], f"{match_text} matching {rule['action']} rule at index {index}"
        return "", ""


def _match(rule: Object, pod: Pod, status: Object) -> str:
    """Describes how a pod matches a rule; empty if it does not."""
    codes = rule.get("onExitCodes")
    if codes is not None:
        return _match_exit_codes(codes, pod, status)
    for pattern in rule.get("onPodConditions") or ():
        for condition in status.get("conditions") or ():
            if all(condition[name] == pattern.get(name) for name in ("type", "status")):
                return f"Pod {pod.namespace}/{pod.name} has condition {condition['type']}"
    return ""


def _match_exit_codes(codes: Object, pod: Pod, status: Object) -> str:
    container_name = codes.get("containerName")
    for part in ("containerStatuses", "initContainerStatuses"):
        for container in status.get(part) or ():
            ended = (container.get("state") or {}).get("terminated")
            if ended is None or (
                container_name is not None and container["name"] != container_name
            ):
                continue
            code = ended.get("exitCode") or 0
            listed = code in (codes.get("values") or ())
            if code != 0 and listed == (codes["operator"] == "In"):
                which = f"Container {container['name']} for pod {pod.namespace}/{pod.name}"
                return f"{which} failed with exit code {code}"
    return ""
