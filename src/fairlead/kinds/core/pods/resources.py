"""What containers ask for and are limited to."""

from __future__ import annotations

from decimal import ROUND_UP, Decimal

from fairlead.bounded import Bounded, remembered
from fairlead.dialect import Dialect
from fairlead.kinds.behaviour import Object
from fairlead.kinds.causes import Causes
from fairlead.kinds.context import Context
from fairlead.kinds.rules import NON_NEGATIVE
from fairlead.schema.names import qualified_name
from fairlead.schema.quantity import QuantityError, format_quantity, quantity

HUGE_PAGES = "hugepages-"
COUNTED_RESOURCES = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
STANDARD_RESOURCES = frozenset(
    (
        *COUNTED_RESOURCES,
        *CONTAINER_RESOURCES,
        *(f"requests.{name}" for name in CONTAINER_RESOURCES),
        *(f"limits.{name}" for name in CONTAINER_RESOURCES),
        "storage",
        "requests.storage",
    )
)
NOT_STANDARD = "must be a standard resource type or fully qualified"
NOT_FOR_CONTAINERS = "must be a standard resource for containers"
NOT_EXTENDED = "doesn't follow extended resource name standard"
_MILLI = Decimal("0.001")


def is_native(name: str, dialect: Dialect) -> bool:
    """Whether a resource is the API's own, not one that a cluster defines."""
    return "/" not in name or dialect.label("@/") in name


def is_extended(name: str, dialect: Dialect) -> bool:
    if is_native(name, dialect) or name.startswith("requests."):
        return False
    return not qualified_name(f"requests.{name}")


def resource_name_errors(name: str) -> list[str]:
    wrong = list(qualified_name(name))
    if wrong or "/" in name or name in STANDARD_RESOURCES:
        return wrong
    return [] if name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}")) else [NOT_STANDARD]


_known_names: Bounded[tuple[str, str], tuple[str, ...]] = Bounded()


def container_resource_errors(name: str, dialect: Dialect) -> tuple[str, ...]:
    """What is wrong with a resource name in a container (or a limit range of one)."""
    key = (name, dialect.name)
    known = _known_names.get(key)
    if known is None:
        known = tuple(_container_resource_errors(name, dialect))
        _known_names.keep(key, known, len(name))
    return known


def _container_resource_errors(name: str, dialect: Dialect) -> list[str]:
    wrong = resource_name_errors(name)
    if "/" not in name:
        if name not in CONTAINER_RESOURCES and not name.startswith(HUGE_PAGES):
            wrong.append(NOT_FOR_CONTAINERS)
    elif not is_native(name, dialect) and not is_extended(name, dialect):
        wrong.append(NOT_EXTENDED)
    return wrong


def check_quantity(name: str, amount: str, path: str, causes: Causes, dialect: Dialect) -> None:
    """An amount that fits its resource: not negative, and whole where things are counted."""
    if amount[0] == "-":
        causes.invalid(path, amount, NON_NEGATIVE)
    if name in COUNTED_RESOURCES or is_extended(name, dialect):
        value = quantity(amount)
        if value != value.to_integral_value():
            causes.invalid(path, amount, "must be an integer")


def can_overcommit(name: str, dialect: Dialect) -> bool:
    return is_native(name, dialect) and not name.startswith(HUGE_PAGES)


def _check_huge_pages(name: str, amount: str, path: str, causes: Causes) -> None:
    try:
        size = quantity(name.removeprefix(HUGE_PAGES))
    except QuantityError:
        size = Decimal(0)
    if size <= 0 or size != size.to_integral_value() or quantity(amount) % size != 0:
        causes.invalid(path, amount, f"{amount} is not positive integer multiple of {name}")


def _check_amounts(amounts: Object, path: str, causes: Causes, dialect: Dialect) -> None:
    for name, amount in amounts.items():
        if name not in CONTAINER_RESOURCES or amount[0] == "-":
            _check_amount(name, amount, f"{path}[{name}]", causes, dialect)
            if name.startswith(HUGE_PAGES):
                _check_huge_pages(name, amount, f"{path}[{name}]", causes)


def _check_amount(name: str, amount: str, path: str, causes: Causes, dialect: Dialect) -> None:
    causes.invalid_each(path, name, container_resource_errors(name, dialect))
    check_quantity(name, amount, path, causes, dialect)


def check_resources(resources: Object, path: str, causes: Causes, context: Context) -> None:
    """The rules of a container's ResourceRequirements."""
    limits, requests = resources.get("limits"), resources.get("requests")
    if not limits and not requests:
        return
    dialect = context.dialect
    limits, requests = limits or {}, requests or {}
    _check_amounts(limits, f"{path}.limits", causes, dialect)
    for name, amount in requests.items():
        is_plain = name in CONTAINER_RESOURCES and amount[0] != "-"
        if not is_plain:
            _check_amount(name, amount, f"{path}.requests[{name}]", causes, dialect)
        limit = limits.get(name)
        if amount != limit and (limit is not None or not is_plain):
            _check_against_limit(name, amount, limit, path, causes, dialect)
        if name.startswith(HUGE_PAGES):
            _check_huge_pages(name, amount, f"{path}.requests[{name}]", causes)
    is_compute = not (limits.keys().isdisjoint(_COMPUTE) and requests.keys().isdisjoint(_COMPUTE))
    if not is_compute and any(name.startswith(HUGE_PAGES) for name in (*limits, *requests)):
        causes.forbidden(path, "HugePages require cpu or memory")


_COMPUTE = ("cpu", "memory")


def _check_against_limit(
    name: str, amount: str, limit: str | None, path: str, causes: Causes, dialect: Dialect
) -> None:
    if limit is None:
        if not can_overcommit(name, dialect):
            detail = "Limit must be set for non overcommitable resources"
            causes.required(f"{path}.limits", detail)
        return
    wanted, most = quantity(amount), quantity(limit)
    if wanted != most and not can_overcommit(name, dialect):
        causes.invalid(f"{path}.requests", amount, f"must be equal to {name} limit")
    elif wanted > most:
        causes.invalid(f"{path}.requests", amount, f"must be less than or equal to {name} limit")


def is_fractional(amount: str) -> bool:
    """Whether an amount is not a whole number."""
    value = quantity(amount)
    return value != value.to_integral_value()


def round_up_amounts(amounts: Object | None) -> None:
    """No amount is kept finer than a thousandth."""
    if not amounts:
        return
    for name, amount in amounts.items():
        if amount[-1] in "nu" or "e-" in amount:
            amounts[name] = _rounded(amount)


@remembered(256, longest=64)
def _rounded(amount: str) -> str:
    value = quantity(amount)
    rounded = value.quantize(_MILLI, rounding=ROUND_UP)
    if rounded == value:
        return amount
    return format_quantity(rounded, "exponent" if "e" in amount else "decimal")
