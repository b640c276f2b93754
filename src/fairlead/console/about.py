"""What the page has to know of a server before anybody has signed in."""

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


def about(dialect: Dialect, *, testing: bool, read_only: bool) -> dict[str, Any]:
    """`groups` has the full names of the API groups that are called differently in each dialect,
    by the part that is not."""
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
