"""Words that many cells share: ages, label selectors, containers, shortened lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

UNKNOWN = "<unknown>"
NONE = "<none>"
UNSET = "<unset>"

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY

# Below each limit (in seconds) a duration is told in this unit and, if named, the next smaller one.
_SCALES: tuple[tuple[int, int, str, int, str], ...] = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def field(obj: Any, path: str) -> Any:
    """The value at a dotted path, None where any step is absent."""
    for step in path.split("."):
        if not isinstance(obj, dict):
            return None
        obj = obj.get(step)
    return obj


def items(obj: Any, path: str) -> list[Any]:
    """The list at a dotted path, empty where absent."""
    return field(obj, path) or []


def mapping(obj: Any, path: str) -> dict[str, Any]:
    """The map at a dotted path, empty where absent."""
    return field(obj, path) or {}


def count(path: str) -> Callable[[dict[str, Any]], int]:
    """A cell with the number of entries at a path."""
    return lambda obj: len(field(obj, path) or ())


def moment(stamp: Any) -> datetime | None:
    """A timestamp's moment; None for an absent, zero or unreadable one."""
    if not isinstance(stamp, str):
        return None
    try:
        when = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return None if when.year == 1 else when


def duration_text(length: timedelta) -> str:
    """A duration in two or three significant figures; a small clock skew counts as none."""
    seconds = int(length.total_seconds())
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    for limit, unit, letter, small, small_letter in _SCALES:
        if seconds < limit:
            rest = seconds % unit // small if small else 0
            return f"{seconds // unit}{letter}" + (f"{rest}{small_letter}" if rest else "")
    return f"{seconds // _YEAR}y"


def since(stamp: Any, now: datetime) -> str:
    """The age of a timestamp."""
    when = moment(stamp)
    return UNKNOWN if when is None else duration_text(now - when)


def age_of(path: str, missing: str = UNKNOWN) -> Callable[[dict[str, Any], datetime], str]:
    """A cell with the age of the timestamp at a path."""

    def cell(obj: dict[str, Any], now: datetime) -> str:
        stamp = field(obj, path)
        return missing if stamp is None else since(stamp, now)

    return cell


def shortened(entries: Sequence[str], limit: int, separator: str = ",") -> str:
    """The first entries, and how many more there are."""
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
    """A label selector in the words of a selector parameter; ValueError for one without sense."""
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
    """Entries in one text; absent ones leave an empty place."""
    return separator.join("" if entry is None else str(entry) for entry in entries)


def load_balancer_text(status: Any) -> str:
    """The distinct addresses of a load balancer, sorted."""
    points = items(status, "ingress")
    found = {point.get("ip") or point.get("hostname") for point in points}
    return ",".join(sorted(address for address in found if address))
