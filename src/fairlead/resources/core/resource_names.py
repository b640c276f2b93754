"""The names of resources that a quota can limit, and the rules of amounts."""

from __future__ import annotations

from fairlead.base.dialect import Dialect
from fairlead.resources.causes import Causes
from fairlead.resources.core.pods.resources import (
    COUNTED_RESOURCES,
    HUGE_PAGES,
    STANDARD_RESOURCES,
    is_extended,
    is_fractional,
    resource_name_errors,
)
from fairlead.resources.core.shared import NOT_AN_INTEGER, go_quantity, non_negative_quantity

QUOTA_RESOURCES = STANDARD_RESOURCES - {"storage"}
_HUGE_PAGES = (HUGE_PAGES, f"requests.{HUGE_PAGES}")


def is_quota_resource(name: str) -> bool:
    return name in QUOTA_RESOURCES or name.startswith(_HUGE_PAGES)


def check_quota_resource_name(name: str, path: str, causes: Causes) -> None:
    causes.invalid_each(path, name, resource_name_errors(name))
    if "/" not in name and not is_quota_resource(name):
        causes.invalid(path, name, "must be a standard resource for quota")


def check_amount(name: str, text: str, path: str, causes: Causes, dialect: Dialect) -> None:
    """Check an amount of a resource: not negative, and whole for counted resources."""
    non_negative_quantity(text, path, causes)
    counted = name in COUNTED_RESOURCES or is_extended(name, dialect)
    if counted and is_fractional(text):
        causes.invalid(path, go_quantity(text, pointed=True), NOT_AN_INTEGER)
