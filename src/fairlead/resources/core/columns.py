"""Columns of the simple kinds of the core group."""

from __future__ import annotations

from fairlead.resources.columns.cell_text import count, field, items, labels_at, mapping
from fairlead.resources.columns.model import AGE, NAME, Object, Value, since, table, text, until
from fairlead.resources.columns.workloads import containers, replicas, selector


def _entries(config_map: Object) -> int:
    return len(mapping(config_map, "data")) + len(mapping(config_map, "binaryData"))


def _usage(limits: bool) -> Value:
    """The usage of each quota; `limits.…` resources have a column of their own."""

    def cell(quota: Object) -> str:
        used = mapping(quota, "status.used")
        return ", ".join(
            f"{name}: {used.get(name) or '0'}/{hard}"
            for name, hard in sorted(mapping(quota, "status.hard").items())
            if name.startswith("limits.") == limits
        )

    return cell


def _health(component: Object) -> Object:
    conditions = (
        condition
        for condition in items(component, "conditions")
        if condition.get("type") == "Healthy"
    )
    return next(conditions, {})


def _healthy(component: Object) -> str:
    condition = _health(component)
    if not condition:
        return "Unknown"
    return "Healthy" if condition.get("status") == "True" else "Unhealthy"


def _health_word(key: str) -> Value:
    return lambda component: field(_health(component), key) or ""


PRINTERS = {
    "core/v1/configmaps": table(
        NAME,
        text("Data", _entries, "Number of entries"),
        AGE,
    ),
    "core/v1/secrets": table(
        NAME,
        text("Type", "type", "What the secret is for"),
        text("Data", count("data"), "Number of entries"),
        AGE,
    ),
    "core/v1/serviceaccounts": table(
        NAME,
        until(36, text("Secrets", count("secrets"), "Number of secrets its pods may use")),
        AGE,
    ),
    "core/v1/namespaces": table(
        NAME,
        text("Status", "status.phase", "Active, or on its way out"),
        AGE,
    ),
    "core/v1/replicationcontrollers": table(
        NAME,
        *replicas(),
        AGE,
        *containers("spec.template.spec"),
        selector(labels_at("spec.selector")),
    ),
    "core/v1/resourcequotas": table(
        NAME,
        until(36, AGE),
        text("Request", _usage(limits=False), "Used and allowed, of counts and requests"),
        text("Limit", _usage(limits=True), "Used and allowed, of limits"),
        since(36, AGE),
    ),
    "core/v1/componentstatuses": table(
        NAME,
        text("Status", _healthy, "Whether the component is healthy"),
        text("Message", _health_word("message"), "What the health check said"),
        text("Error", _health_word("error"), "Why the health check failed"),
    ),
}
