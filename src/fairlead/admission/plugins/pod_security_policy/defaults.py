"""The defaults that a policy sets on a pod."""

from __future__ import annotations

from typing import Any

from fairlead.admission.plugins.pod_security_policy.policy import NON_ROOT, SecurityPolicy
from fairlead.codec.types.model import Object
from fairlead.resources.core.pods.annotations import Keys
from fairlead.resources.core.pods.container_lists import all_containers


def context_of(holder: Object) -> Object:
    """The security context of a pod's spec or of a container."""
    return holder.get("securityContext") or {}


def effective(spec: Object, container: Object, name: str) -> Any:
    """A setting of a container, inherited from the pod if the container does not set it."""
    own = context_of(container).get(name)
    return own if own is not None else context_of(spec).get(name)


def fill(policy: SecurityPolicy, pod: Object, keys: Keys) -> None:
    spec = pod["spec"]
    context = context_of(spec)
    if not context.get("supplementalGroups"):
        group = policy.supplemental_groups.default
        _set(spec, "supplementalGroups", [group] if group is not None else None)
    if context.get("fsGroup") is None:
        _set(spec, "fsGroup", policy.fs_group.default)
    if context.get("seLinuxOptions") is None and policy.selinux is not None:
        _set(spec, "seLinuxOptions", dict(policy.selinux))
    if context.get("seccompProfile") is None:
        _annotate(pod, keys.seccomp_pod, policy.seccomp.default)
    runtime = (policy.spec.get("runtimeClass") or {}).get("defaultRuntimeClassName")
    if spec.get("runtimeClassName") is None and runtime is not None:
        spec["runtimeClassName"] = runtime
    for container in all_containers(spec):
        _annotate(pod, keys.app_armor + container["name"], policy.app_armor.default)
        _fill_container(policy, spec, container)


def _fill_container(policy: SecurityPolicy, spec: Object, container: Object) -> None:
    if effective(spec, container, "runAsUser") is None:
        _set(container, "runAsUser", policy.user.default)
    if effective(spec, container, "runAsGroup") is None:
        _set(container, "runAsGroup", policy.group.default)
    if (
        policy.user.rule == NON_ROOT
        and effective(spec, container, "runAsNonRoot") is None
        and effective(spec, container, "runAsUser") is None
    ):
        _set(container, "runAsNonRoot", True)
    _fill_capabilities(policy, container)
    context = context_of(container)
    if policy.spec.get("readOnlyRootFilesystem") and context.get("readOnlyRootFilesystem") is None:
        _set(container, "readOnlyRootFilesystem", True)
    if context.get("allowPrivilegeEscalation") is None:
        default = policy.spec.get("defaultAllowPrivilegeEscalation")
        if default is None and not policy.allows_escalation:
            default = False
        _set(container, "allowPrivilegeEscalation", default)


def _fill_capabilities(policy: SecurityPolicy, container: Object) -> None:
    """Add the default capabilities that the container does not drop, and the required drops."""
    present = context_of(container).get("capabilities") or {}
    adds, drops = set(present.get("add") or ()), set(present.get("drop") or ())
    all_adds = adds | (set(policy.spec.get("defaultAddCapabilities") or ()) - drops)
    all_drops = drops | set(policy.spec.get("requiredDropCapabilities") or ())
    if all_adds == adds and all_drops == drops:
        return
    named = {"add": sorted(all_adds), "drop": sorted(all_drops)}
    _set(container, "capabilities", {name: listed for name, listed in named.items() if listed})


def _set(holder: Object, name: str, value: Any) -> None:
    if value is not None:
        holder["securityContext"] = {**context_of(holder), name: value}


def _annotate(pod: Object, key: str, profile: str) -> None:
    annotations = pod["metadata"].get("annotations") or {}
    if profile and not annotations.get(key):
        pod["metadata"]["annotations"] = {**annotations, key: profile}
