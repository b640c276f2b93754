"""Columns of nodes."""

from __future__ import annotations

from fairlead.base.dialect import Dialect
from fairlead.resources.columns.cell_text import NONE, UNKNOWN, field, items, mapping
from fairlead.resources.columns.model import AGE, NAME, Field, Object, Printer, Value, table, text


def _status(node: Object) -> str:
    words = {
        one.get("type"): "Ready" if one.get("status") == "True" else "NotReady"
        for one in items(node, "status.conditions")
    }
    word = words.get("Ready", "Unknown")
    return f"{word},SchedulingDisabled" if field(node, "spec.unschedulable") else word


def _address(kind: str) -> Value:
    def cell(node: Object) -> str:
        found = (one for one in items(node, "status.addresses") if one.get("type") == kind)
        return next((str(one.get("address") or "") for one in found), NONE)

    return cell


def _roles(dialect: Dialect) -> Value:
    prefix, label = dialect.label("node-role.@/"), dialect.label("@/role")

    def cell(node: Object) -> str:
        labels = mapping(node, "metadata.labels")
        roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
        roles.add(labels.get(label, ""))
        return ",".join(sorted(roles - {""})) or NONE

    return cell


def printers(dialect: Dialect) -> dict[str, Printer]:
    """The printer of nodes; the labels of roles depend on the dialect."""

    def told(name: str, key: str, description: str) -> Field:
        return text(name, f"status.nodeInfo.{key}", description, missing=UNKNOWN, wide=True)

    return {
        "core/v1/nodes": table(
            NAME,
            text("Status", _status, "Whether the node is ready and open to pods"),
            text("Roles", _roles(dialect), "Roles named by the node's labels"),
            AGE,
            text("Version", "status.nodeInfo.kubeletVersion", "Version of the node agent"),
            text("Internal-IP", _address("InternalIP"), "Address inside the cluster", wide=True),
            text("External-IP", _address("ExternalIP"), "Address from outside", wide=True),
            told("OS-Image", "osImage", "Operating system"),
            told("Kernel-Version", "kernelVersion", "Kernel"),
            told("Container-Runtime", "containerRuntimeVersion", "What runs the containers"),
        )
    }
