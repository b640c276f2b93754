"""The names of what can be requested, limited and counted, and the rules of their amounts."""

from __future__ import annotations

from fairlead.dialect import Dialect
from fairlead.kinds.causes import Causes
from fairlead.kinds.core.shared import (
    NOT_AN_INTEGER,
    go_quantity,
    is_fractional,
    non_negative_quantity,
)
from fairlead.schema.names import qualified_name

CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
OBJECT_COUNTS = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
QUOTA_RESOURCES = (
    CONTAINER_RESOURCES
    | {f"requests.{name}" for name in (*CONTAINER_RESOURCES, "storage")}
    | {f"limits.{name}" for name in CONTAINER_RESOURCES}
    | OBJECT_COUNTS
)
STANDARD_RESOURCES = QUOTA_RESOURCES | {"storage"}

HUGE_PAGES = "hugepages-"
_QUOTA_HUGE_PAGES = (HUGE_PAGES, f"requests.{HUGE_PAGES}")


def is_native(name: str, dialect: Dialect) -> bool:
    """Whether a name belongs to the system itself and not to an extension."""
    return "/" not in name or dialect.label("@/") in name


def is_extended(name: str, dialect: Dialect) -> bool:
    if is_native(name, dialect) or name.startswith("requests."):
        return False
    return not qualified_name(f"requests.{name}")


def is_counted(name: str, dialect: Dialect) -> bool:
    """Whether only whole numbers of it make sense."""
    return name in OBJECT_COUNTS or is_extended(name, dialect)


def may_overcommit(name: str, dialect: Dialect) -> bool:
    return is_native(name, dialect) and not name.startswith(HUGE_PAGES)


def is_quota_resource(name: str) -> bool:
    return name in QUOTA_RESOURCES or name.startswith(_QUOTA_HUGE_PAGES)


def check_resource_name(name: str, path: str, causes: Causes) -> None:
    wrong = qualified_name(name)
    causes.invalid_each(path, name, wrong)
    standard = name in STANDARD_RESOURCES or name.startswith(_QUOTA_HUGE_PAGES)
    if not wrong and "/" not in name and not standard:
        causes.invalid(path, name, "must be a standard resource type or fully qualified")


def check_container_resource_name(name: str, path: str, causes: Causes, dialect: Dialect) -> None:
    check_resource_name(name, path, causes)
    if "/" not in name:
        if name not in CONTAINER_RESOURCES and not name.startswith(HUGE_PAGES):
            causes.invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name, dialect) and not is_extended(name, dialect):
        causes.invalid(path, name, "doesn't follow extended resource name standard")


def check_quota_resource_name(name: str, path: str, causes: Causes) -> None:
    check_resource_name(name, path, causes)
    if "/" not in name and not is_quota_resource(name):
        causes.invalid(path, name, "must be a standard resource for quota")


def check_amount(name: str, text: str, path: str, causes: Causes, dialect: Dialect) -> None:
    """An amount of a resource: never negative, and whole where it is counted."""
    non_negative_quantity(text, path, causes)
    if is_counted(name, dialect) and is_fractional(text):
        causes.invalid(path, go_quantity(text), NOT_AN_INTEGER)
