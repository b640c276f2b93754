"""Validation of the resource requests and limits of containers, and the QoS class that follows from
them."""

from __future__ import annotations

from decimal import ROUND_UP, Decimal
from typing import Final

from fairlead.base.caches import BoundedCache, memoized
from fairlead.base.dialect import Dialect
from fairlead.codec.types.names import dns_label, qualified_name
from fairlead.codec.types.quantity import QuantityError, format_quantity, is_less, quantity
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.container_lists import DECLARED_LISTS
from fairlead.resources.core.pods.totals import HUGE_PAGES as HUGE_PAGES
from fairlead.resources.core.shared import go_quantity
from fairlead.resources.rules import NON_NEGATIVE

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
CONTAINER_RESOURCES: Final[tuple[str, ...]] = ("cpu", "memory", "ephemeral-storage")
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
    """Whether a resource is the API's own, not an extended resource of a cluster."""
    return "/" not in name or dialect.label("@/") in name


def is_extended(name: str, dialect: Dialect) -> bool:
    if is_native(name, dialect) or name.startswith("requests."):
        return False
    return not qualified_name(f"requests.{name}")


def resource_name_errors(name: str) -> list[str]:
    errors = list(qualified_name(name))
    if errors or "/" in name or name in STANDARD_RESOURCES:
        return errors
    return [] if name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}")) else [NOT_STANDARD]


_known_names: BoundedCache[tuple[str, str], tuple[str, ...]] = BoundedCache()


def container_resource_errors(name: str, dialect: Dialect) -> tuple[str, ...]:
    """The errors of a resource name in a container, or in a limit range for containers."""
    key = (name, dialect.name)
    errors = _known_names.get(key)
    if errors is None:
        errors = tuple(_container_resource_errors(name, dialect))
        _known_names.keep(key, errors, len(name))
    return errors


def _container_resource_errors(name: str, dialect: Dialect) -> list[str]:
    errors = resource_name_errors(name)
    if "/" not in name:
        if name not in CONTAINER_RESOURCES and not name.startswith(HUGE_PAGES):
            errors.append(NOT_FOR_CONTAINERS)
    elif not is_native(name, dialect) and not is_extended(name, dialect):
        errors.append(NOT_EXTENDED)
    return errors


def check_quantity(name: str, amount: str, path: str, causes: Causes, dialect: Dialect) -> None:
    """Check an amount: not negative, and whole for counted resources."""
    if amount[0] == "-":
        causes.invalid(path, amount, NON_NEGATIVE)
    if name in COUNTED_RESOURCES or is_extended(name, dialect):
        value = quantity(amount)
        if value != value.to_integral_value():
            causes.invalid(path, go_quantity(amount, pointed=True), "must be an integer")


def can_overcommit(name: str, dialect: Dialect) -> bool:
    return is_native(name, dialect) and not name.startswith(HUGE_PAGES)


def _check_huge_pages(name: str, amount: str, path: str, causes: Causes) -> None:
    try:
        size = quantity(name.removeprefix(HUGE_PAGES))
    except QuantityError:
        size = Decimal(0)
    if size <= 0 or size != size.to_integral_value() or quantity(amount) % size != 0:
        causes.invalid(path, amount, f"{amount} is not positive integer multiple of {name}")


_PLAIN_RESOURCES: Final = frozenset(CONTAINER_RESOURCES)


def _is_plain(name: str, amount: str) -> bool:
    """Whether an amount needs no check of its own. Fast path: true for nearly all."""
    return name in _PLAIN_RESOURCES and amount[0] != "-"


def _check_amount(name: str, amount: str, path: str, causes: Causes, dialect: Dialect) -> None:
    causes.invalid_each(path, name, container_resource_errors(name, dialect))
    check_quantity(name, amount, path, causes, dialect)


def check_resources(resources: Object, path: str, causes: Causes, context: Context) -> None:
    """Check the ResourceRequirements of a container."""
    limits: dict[str, str] = resources.get("limits") or {}
    requests: dict[str, str] = resources.get("requests") or {}
    dialect = context.dialect
    for name, amount in limits.items():
        if not _is_plain(name, amount):
            _check_amount(name, amount, f"{path}.limits[{name}]", causes, dialect)
            if name.startswith(HUGE_PAGES):
                _check_huge_pages(name, amount, f"{path}.limits[{name}]", causes)
    for name, amount in requests.items():
        is_plain = _is_plain(name, amount)
        if not is_plain:
            _check_amount(name, amount, f"{path}.requests[{name}]", causes, dialect)
        limit = limits.get(name)
        if amount != limit and (limit is not None or not is_plain):
            _check_against_limit(name, amount, limit, path, causes, context)
        if not is_plain and name.startswith(HUGE_PAGES):
            _check_huge_pages(name, amount, f"{path}.requests[{name}]", causes)
    if _asks_compute(limits) or _asks_compute(requests):
        return
    if any(name.startswith(HUGE_PAGES) for name in (*limits, *requests)):
        causes.forbidden(path, "HugePages require cpu or memory")


def _asks_compute(amounts: dict[str, str]) -> bool:
    return "cpu" in amounts or "memory" in amounts


def _check_against_limit(
    name: str, amount: str, limit: str | None, path: str, causes: Causes, context: Context
) -> None:
    dialect = context.dialect
    if limit is None:
        if not can_overcommit(name, dialect):
            detail = "Limit must be set for non overcommitable resources"
            causes.required(f"{path}.limits", detail)
        return
    shown = f" of {limit}" if context.gates["LimitsInErrors"] else ""
    if not can_overcommit(name, dialect):
        if quantity(amount) != quantity(limit):
            causes.invalid(f"{path}.requests", amount, f"must be equal to {name} limit{shown}")
    elif is_less(limit, amount):
        detail = f"must be less than or equal to {name} limit{shown}"
        causes.invalid(f"{path}.requests", amount, detail)


def check_claims(
    claims: list[Object], pod_claims: frozenset[str], path: str, causes: Causes
) -> None:
    """Check the resource claims of a container; `pod_claims` are the names of those of the pod."""
    whole: set[str] = set()
    requests: dict[str, set[str]] = {}  # by claim, for claims that are not used as a whole
    for index, claim in enumerate(claims):
        name, request = claim["name"], claim.get("request", "")
        if not name:
            causes.required(f"{path}[{index}]")
            continue
        if name in whole:
            causes.duplicate(f"{path}[{index}]", name)
        elif request:
            causes.invalid_each(f"{path}[{index}].request", request, dns_label(request))
            if request in requests.setdefault(name, set()):
                causes.duplicate(f"{path}[{index}]", f"{name}/{request}")
            requests[name].add(request)
        else:
            for _ in requests.get(name, ()):
                causes.duplicate(f"{path}[{index}]", name)
            whole.add(name)
        if name not in pod_claims:
            listed_claims = (
                f": {', '.join(sorted(pod_claims))}" if pod_claims else " which is empty"
            )
            detail = f"must be one of the names in pod.spec.resourceClaims{listed_claims}"
            causes.not_found(f"{path}[{index}]", name, detail)


def is_fractional(amount: str) -> bool:
    """Whether an amount is not a whole number."""
    value = quantity(amount)
    return value != value.to_integral_value()


def round_up_amounts(amounts: Object | None) -> None:
    """Round amounts up to thousandths, in place."""
    if not amounts:
        return
    for name, amount in amounts.items():
        text: str = amount
        if text[-1] == "n" or text[-1] == "u" or "e-" in text:
            amounts[name] = _rounded(text)


@memoized(256, longest=64)
def _rounded(amount: str) -> str:
    value = quantity(amount)
    rounded = value.quantize(_MILLI, rounding=ROUND_UP)
    if rounded == value:
        return amount
    return format_quantity(rounded, "exponent" if "e" in amount else "decimal")


# The QoS class of a pod

BEST_EFFORT, BURSTABLE, GUARANTEED = "BestEffort", "Burstable", "Guaranteed"
_QOS_RESOURCES: Final[tuple[str, ...]] = ("cpu", "memory")


def qos_class(spec: Object) -> str:
    """Guaranteed: every container has limits for both resources, and the sums of limits equal those
    of requests. BestEffort: no container has requests or limits. Burstable: all others. Resources
    of the pod as a whole count in place of those of its containers."""
    compared: list[tuple[str, str, str]] = []  # resource, request, limit
    is_asking, all_limited = False, True
    for resources in _qos_resources(spec):
        requests: Object = resources.get("requests") or {}
        limits: Object = resources.get("limits") or {}
        for name in _QOS_RESOURCES:
            request, limit = (
                _positive_amount(requests.get(name)),
                _positive_amount(limits.get(name)),
            )
            is_asking = is_asking or bool(request or limit)
            all_limited = all_limited and bool(limit)
            if request != limit:
                compared.append((name, request, limit))
    if not is_asking:
        return BEST_EFFORT
    return GUARANTEED if all_limited and _are_equal(compared) else BURSTABLE


def _qos_resources(spec: Object) -> list[Object]:
    if "resources" in spec:
        return [spec["resources"]]
    return [container["resources"] for kind in DECLARED_LISTS for container in spec.get(kind) or ()]


def _positive_amount(amount: str | None) -> str:
    """The amount, or an empty string if it is not positive. Amounts are in canonical form."""
    return "" if amount is None or amount == "0" or amount[0] == "-" else amount


def _are_equal(compared: list[tuple[str, str, str]]) -> bool:
    """Whether the sums of requests and limits are equal although the items differ."""
    if all(not request or is_less(request, limit) for _, request, limit in compared):
        return not compared  # no request exceeds its limit to make up for it
    sums: dict[str, Decimal] = dict.fromkeys(_QOS_RESOURCES, Decimal(0))
    for name, request, limit in compared:
        sums[name] += (quantity(request) if request else 0) - quantity(limit)
    return not any(sums.values())
