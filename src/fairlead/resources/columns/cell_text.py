"""Texts that many cells share: ages, label selectors, containers, shortened lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from fairlead.codec.types.times import UNKNOWN as UNKNOWN
from fairlead.codec.types.times import Age as Age
from fairlead.codec.types.times import age_since as age_since
from fairlead.codec.types.times import duration_text as duration_text
from fairlead.codec.types.times import instant as instant
from fairlead.codec.types.times import moment as moment
from fairlead.codec.types.times import since as since

NONE = "<none>"
UNSET = "<unset>"


# Unbounded: the only paths are those of our own columns.
_steps = cache(lambda path: tuple(path.split(".")))


def field(obj: Any, path: str) -> Any:
    """The value at a dotted path; None if a step is absent."""
    for step in _steps(path):
        if not isinstance(obj, dict):
            return None
        obj = obj.get(step)
    return obj


def items(obj: Any, path: str) -> list[Any]:
    """The list at a dotted path; empty if absent."""
    return field(obj, path) or []


def mapping(obj: Any, path: str) -> dict[str, Any]:
    """The map at a dotted path; empty if absent."""
    return field(obj, path) or {}


def count(path: str) -> Callable[[dict[str, Any]], int]:
    """A cell with the number of entries at a path."""
    return lambda obj: len(field(obj, path) or ())


def age_of(path: str, missing: str = UNKNOWN) -> Callable[[dict[str, Any]], Age | str]:
    """A cell with the age of the timestamp at a path."""

    def cell(obj: dict[str, Any]) -> Age | str:
        stamp = field(obj, path)
        return missing if stamp is None else age_since(stamp)

    return cell


def shortened(entries: Sequence[str], limit: int, separator: str = ",") -> str:
    """The first entries, and the number of the others."""
    shown = separator.join(entries[:limit])
    more = len(entries) - limit
    return f"{shown} + {more} more..." if more > 0 else shown


def labels_text(labels: Mapping[str, str] | None) -> str:
    """Labels as `k=v,…` in key order."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def labels_at(path: str) -> Callable[[dict[str, Any]], str]:
    """A cell with the labels at a path."""
    return lambda obj: labels_text(field(obj, path))


def selector_at(
    path: str, empty: str = NONE, invalid: str = "<error>"
) -> Callable[[dict[str, Any]], str]:
    """A cell with the label selector at a path."""

    def cell(obj: dict[str, Any]) -> str:
        try:
            return selector_text(field(obj, path)) or empty
        except ValueError:
            return invalid

    return cell


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A label selector in the syntax of a selector parameter; raises ValueError if it is
    invalid."""
    if not selector:
        return ""
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        terms.append((expression.get("key", ""), _requirement(expression)))
    return ",".join(term for _, term in sorted(terms, key=lambda pair: pair[0]))


def _requirement(expression: Mapping[str, Any]) -> str:
    key, operator = expression.get("key", ""), expression.get("operator")
    values = sorted(expression.get("values") or ())
    match operator, bool(values):
        case ("In", True):
            return f"{key} in ({','.join(values)})"
        case ("NotIn", True):
            return f"{key} notin ({','.join(values)})"
        case ("Exists", False):
            return str(key)
        case ("DoesNotExist", False):
            return f"!{key}"
    raise ValueError(f"{operator} with {len(values)} values")


def joined(entries: Iterable[Any], separator: str = ",") -> str:
    """Entries joined to one text; an absent entry is empty."""
    return separator.join("" if entry is None else str(entry) for entry in entries)


def load_balancer_text(status: Any) -> str:
    """The distinct addresses of a load balancer, sorted."""
    points = items(status, "ingress")
    addresses = {point.get("ip") or point.get("hostname") for point in points}
    return ",".join(sorted(address for address in addresses if address))
