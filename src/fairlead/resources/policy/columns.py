"""Columns of disruption budgets and pod security policies."""

from __future__ import annotations

from fairlead.resources.columns.cell_text import field, items, joined
from fairlead.resources.columns.model import AGE, NAME, Object, Value, number, table, text


def _amount(path: str) -> Value:
    def cell(budget: Object) -> str:
        value = field(budget, path)
        return "N/A" if value is None else str(value)

    return cell


def _list(path: str) -> Value:
    return lambda policy: joined(items(policy, path))


def _privileged(policy: Object) -> str:
    return "true" if field(policy, "spec.privileged") else "false"


PRINTERS = {
    "policy/v1/poddisruptionbudgets": table(
        NAME,
        text("Min Available", _amount("spec.minAvailable"), "Pods that must stay"),
        text("Max Unavailable", _amount("spec.maxUnavailable"), "Pods that may be gone"),
        number("Allowed Disruptions", "status.disruptionsAllowed", "Pods that may go now"),
        AGE,
    ),
    "policy/v1beta1/podsecuritypolicies": table(
        NAME,
        text("Priv", _privileged, "Whether pods may be privileged"),
        text("Caps", _list("spec.allowedCapabilities"), "Capabilities pods may add"),
        text("SELinux", "spec.seLinux.rule", "Rule for SELinux labels"),
        text("RunAsUser", "spec.runAsUser.rule", "Rule for user ids"),
        text("FsGroup", "spec.fsGroup.rule", "Rule for the group of volumes"),
        text("SupGroup", "spec.supplementalGroups.rule", "Rule for further groups"),
        text(
            "ReadOnlyRootFs",
            "spec.readOnlyRootFilesystem",
            "Whether the root file system must be read-only",
            missing=False,
        ),
        text("Volumes", _list("spec.volumes"), "Kinds of volume pods may use"),
    ),
}
