"""EventRateLimit: limits the rate of event writes by server, namespace, user or source."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from time import monotonic

from fairlead.admission.configuration import FLAG
from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import Object, PluginBase
from fairlead.base.caches import hashed
from fairlead.base.errors import MAX_FIELD_LENGTH, StatusError, clipped
from fairlead.codec.configuration_files import ConfigurationError, Section

# The same objects are served in two groups; the limit must cover both.
EVENTS = ("core/v1/events", "events/v1/events")
_DEFAULT_CACHE_SIZE = 4096
_OBJECT_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion")

Clock = Callable[[], float]
Parts = tuple[str, ...]


def _source_and_object(attributes: Attributes) -> Parts:
    event = attributes.value or {}
    source, about = event.get("source") or {}, event.get("involvedObject") or {}
    return (
        source.get("component", ""),
        source.get("host", ""),
        *(about.get(name, "") for name in _OBJECT_FIELDS),
    )


# The key by which events are counted together, by the type of the limit.
_KEYS: dict[str, Callable[[Attributes], Parts]] = {
    "Server": lambda attributes: (),
    "Namespace": lambda attributes: (attributes.namespace,),
    "User": lambda attributes: (attributes.user.name,),
    "SourceAndObject": _source_and_object,
}


class _Buckets:
    """Token buckets by key: each starts with `burst` tokens and gains `qps` per second. Beyond
    `maximum` keys the least recently used is dropped."""

    def __init__(self, qps: int, burst: int, maximum: int, clock: Clock) -> None:
        self._qps, self._burst, self._maximum = qps, burst, maximum
        self._clock = clock
        self._left: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def take(self, key: bytes) -> bool:
        now = self._clock()
        left, since = self._left.get(key, (float(self._burst), now))
        left = min(left + (now - since) * self._qps, float(self._burst))
        taken = left >= 1.0
        self._left[key] = (left - 1.0 if taken else left, now)
        self._left.move_to_end(key)
        if len(self._left) > self._maximum:
            self._left.popitem(last=False)
        return taken


class EventRateLimit(PluginBase):
    name = "EventRateLimit"
    depends_on_other_state: tuple[str, ...] = EVENTS

    def __init__(self, section: Section | None, clock: Clock = monotonic) -> None:
        if section is None:
            raise ConfigurationError(f"--{FLAG}: EventRateLimit is enabled without limits")
        self._limits = list(_limits(section, clock))

    def validate(self, attributes: Attributes) -> None:
        if attributes.resource.key not in EVENTS or attributes.context.dry_run:
            return
        if attributes.operation not in (CREATE, UPDATE):
            return
        refused = None
        for kind, buckets in self._limits:
            parts = _KEYS[kind](attributes)
            if not buckets.take(hashed("\0".join(parts))):  # every limit counts every event
                refused = kind, parts
        if refused is not None:
            raise _too_many(*refused)


def _limits(section: Section, clock: Clock) -> Iterator[tuple[str, _Buckets]]:
    entries = section.value.get("limits") or []
    if not entries:
        raise section.error("limits", "must not be empty")
    for index, limit in enumerate(entries):
        _check(section, limit, f"limits[{index}]")
        maximum = limit.get("cacheSize") or _DEFAULT_CACHE_SIZE
        yield limit["type"], _Buckets(limit["qps"], limit["burst"], maximum, clock)


def _check(section: Section, limit: Object, path: str) -> None:
    kind = limit.get("type", "")
    if kind not in _KEYS:
        raise section.error(f"{path}.type", f'"{kind}" is not one of {", ".join(_KEYS)}')
    for name in ("burst", "qps"):
        if limit.get(name, 0) <= 0:
            raise section.error(f"{path}.{name}", "must be positive")
    if limit.get("cacheSize", 0) < 0 and kind != "Server":
        raise section.error(f"{path}.cacheSize", "must not be negative")


def _too_many(kind: str, parts: Parts) -> StatusError:
    shown = clipped("".join(parts), MAX_FIELD_LENGTH)
    message = f"Too many requests: limit reached on type {kind} for key {shown}"
    return StatusError(429, "TooManyRequests", message)
