"""Restart policies of containers: their rules, and whether a container that ended starts again."""

from __future__ import annotations

from typing import Final

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.container_lists import CONTAINER_LISTS, all_containers

CONTAINER_POLICIES: Final[tuple[str, ...]] = ("Always", "Never", "OnFailure")
RESTART, RESTART_ALL = "Restart", "RestartAllContainers"
OPERATORS: Final[tuple[str, ...]] = ("In", "NotIn")
RESIZE_RESOURCES: Final[tuple[str, ...]] = ("cpu", "memory")
RESIZE_POLICIES: Final[tuple[str, ...]] = ("NotRequired", "RestartContainer")
MAX_RULES: Final = 20
MAX_EXIT_CODES: Final = 255
POLICY_REQUIRED = "must specify restartPolicy when restart rules are used"


def check_restart_policy(container: Object, path: str, causes: Causes, context: Context) -> None:
    """Check the restart policy of a container, and its rules for exit codes."""
    policy: str | None = container.get("restartPolicy")
    rules: list[Object] = container.get("restartPolicyRules") or []
    if not context.gates["ContainerRestartRules"]:
        if policy is not None:
            detail = "may not be set for non-init containers"
            causes.forbidden(f"{path}.restartPolicy", detail)
        return
    if policy is None:
        if not rules:
            return
        causes.required(f"{path}.restartPolicy", POLICY_REQUIRED)
    elif policy not in CONTAINER_POLICIES:
        causes.unsupported(f"{path}.restartPolicy", policy, CONTAINER_POLICIES)
    _check_rules(rules, f"{path}.restartPolicyRules", causes, context)


def check_init_restart_policy(
    container: Object, path: str, causes: Causes, context: Context
) -> None:
    """Check the restart policy of an init container, which `Always` makes a sidecar."""
    policy: str | None = container.get("restartPolicy")
    if context.gates["ContainerRestartRules"]:
        has_rules = bool(container.get("restartPolicyRules"))
        if policy == "Always" and not context.gates["RestartAllContainersOnContainerExits"]:
            if has_rules:
                detail = (
                    "restartPolicyRules are not allowed for init containers with restart policy"
                    " Always"
                )
                causes.forbidden(f"{path}.restartPolicyRules", detail)
        elif policy is None and has_rules:
            causes.required(f"{path}.restartPolicy", POLICY_REQUIRED)
        else:
            check_restart_policy(container, path, causes, context)
    elif policy is not None and policy != "Always":
        causes.unsupported(f"{path}.restartPolicy", policy, ("Always",))


def _check_rules(rules: list[Object], path: str, causes: Causes, context: Context) -> None:
    if len(rules) > MAX_RULES:
        causes.too_many(path, len(rules), MAX_RULES)
    all_allowed = context.gates["RestartAllContainersOnContainerExits"]
    actions = (RESTART, RESTART_ALL) if all_allowed else (RESTART,)
    for index, rule in enumerate(rules):
        action = rule.get("action", "")
        if action not in actions:
            causes.unsupported(f"{path}[{index}].action", action, actions)
        codes: Object | None = rule.get("exitCodes")
        if codes is None:
            causes.required(f"{path}[{index}].exitCodes", "must be specified")
            continue
        operator = codes.get("operator", "")
        if operator not in OPERATORS:
            causes.unsupported(f"{path}[{index}].exitCodes.operator", operator, OPERATORS)
        count = len(codes.get("values") or ())
        if count > MAX_EXIT_CODES:
            causes.too_many(f"{path}[{index}].exitCodes.values", count, MAX_EXIT_CODES)


def check_resize_policy(policies: list[Object], pod_policy: str, path: str, causes: Causes) -> None:
    """Check how a container takes changes of its resources."""
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            causes.duplicate(f"{path}[{index}]", name)
        seen.add(name)
        for value, supported in ((name, RESIZE_RESOURCES), (restart, RESIZE_POLICIES)):
            if not value:
                causes.required(path)
            elif value not in supported:
                causes.unsupported(path, value, supported)
        if pod_policy == "Never" and restart != "NotRequired":
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            causes.invalid(path, restart, detail)


# What happens to a container that ended


def all_may_restart(spec: Object) -> bool:
    """Whether a rule of any container restarts all of them."""
    return any(
        rule.get("action") == RESTART_ALL
        for container in all_containers(spec)
        for rule in container.get("restartPolicyRules") or ()
    )


def matching_rule(container: Object, exit_code: int) -> Object | None:
    """The first rule of a container for an exit code."""
    for rule in container.get("restartPolicyRules") or ():
        codes: Object = rule.get("exitCodes") or {}
        is_listed = exit_code in (codes.get("values") or ())
        if is_listed is (codes.get("operator") == "In"):
            matching: Object = rule
            return matching
    return None


def should_restart(container: Object, spec: Object, exit_code: int) -> bool:
    """Whether a container that ended with a code starts again."""
    if matching_rule(container, exit_code) is not None:
        return True
    policy = container.get("restartPolicy") or spec.get("restartPolicy", "")
    return bool(policy == "Always" or (policy == "OnFailure" and exit_code != 0))


def container_named(spec: Object, name: str) -> Object | None:
    """The container of a pod with this name."""
    for kind in CONTAINER_LISTS:
        for container in spec.get(kind) or ():
            if container["name"] == name:
                named: Object = container
                return named
    return None
