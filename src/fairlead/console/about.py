"""Facts about a server that the page needs before a user has signed in."""

from __future__ import annotations

from typing import Any

from fairlead import __version__
from fairlead.base.dialect import Dialect

_GROUPS = (
    "admissionregistration",
    "apiextensions",
    "apiregistration",
    "authentication",
    "authorization",
    "certificates",
    "coordination",
    "discovery",
    "events",
    "flowcontrol.apiserver",
    "metrics",
    "networking",
    "node",
    "rbac.authorization",
    "scheduling",
    "storage",
)


def facts(dialect: Dialect, *, testing: bool, read_only: bool) -> dict[str, Any]:
    """Return the facts. `groups` maps the dialect-independent part of the names of API groups to
    the full names."""
    return {
        "dialect": dialect.name,
        "version": __version__,
        "testing": testing,
        "readOnly": read_only,
        "groupDomain": dialect.group_domain,
        "labelDomain": dialect.label_domain,
        "systemNamespaces": list(dialect.system_namespaces),
        "groups": {name: dialect.group_name(f"{name}.@") for name in _GROUPS},
    }
