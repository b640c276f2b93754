"""Waits until objects meet conditions, by watching rather than polling."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from fairlead.client.resources import Object, Resource
from fairlead.client.watch import DELETED, Key, key_of, listed_objects

Holds = Callable[[Object | None], bool]  # predicate on an object, or on None if it does not exist


def exists(value: Object | None) -> bool:
    return value is not None


def is_gone(value: Object | None) -> bool:
    return value is None


def is_other_than(uid: str) -> Holds:
    """Holds once the object is gone, even if another of that name exists."""
    return lambda value: value is None or value["metadata"].get("uid") != uid


def has_condition(type: str, status: str = "True") -> Holds:
    """Holds if the object has a condition with this status, compared case-insensitively, that is
    current for the object's generation."""

    def holds(value: Object | None) -> bool:
        state = (value or {}).get("status")
        listed = state.get("conditions") if isinstance(state, dict) else None
        for entry in listed if isinstance(listed, list) else ():
            if not isinstance(entry, dict) or str(entry.get("type")).casefold() != type.casefold():
                continue
            generation = (value or {})["metadata"].get("generation") or 0
            observed = entry.get("observedGeneration", (state or {}).get("observedGeneration"))
            if isinstance(observed, int) and observed < generation:
                return False
            return str(entry.get("status")).casefold() == status.casefold()
        return False

    return holds


def has_value(find: Callable[[Object], Sequence[Any]], expected: Any) -> Holds:
    """Holds if `find` returns exactly one value of the object and it equals `expected`."""

    def holds(value: Object | None) -> bool:
        return value is not None and list(find(value)) == [expected]

    return holds


async def wait_until(
    resource: Resource,
    name: str,
    holds: Holds,
    namespace: str | None = None,
    timeout: float | None = None,
) -> Object | None:
    """Wait until the condition holds; returns the object, None if it does not exist. Raises
    TimeoutError, and errors of a watch."""
    space = resource.space(namespace)
    settling = settled(resource, {(space, name): holds}, namespace, timeout)
    async with aclosing(settling) as events:
        async for _, value in events:
            return value
    raise TimeoutError(f"{resource.type.name}/{name} did not meet the condition in time")


async def settled(
    resource: Resource,
    conditions: Mapping[Key, Holds],
    namespace: str | None = None,
    timeout: float | None = None,
) -> AsyncGenerator[tuple[Key, Object | None], None]:
    """Yield each object once its condition holds, using one watch. Ends when all hold or the time
    is over. `namespace` is that of all objects, or "" if they differ."""
    open = dict(conditions)
    query: dict[str, Any] = {}
    if len(open) == 1:
        query["fieldSelector"] = f"metadata.name={next(iter(open))[1]}"
    listed = await resource.list(namespace, **query)
    now = listed_objects(listed)
    for key in [key for key, holds in open.items() if holds(now.get(key))]:
        del open[key]
        yield key, now.get(key)
    del now
    if not open:
        return
    watch = resource.watch(namespace, since=listed, timeout=timeout, **query)
    async with aclosing(aiter(watch)) as events:
        async for type, value in events:
            key = key_of(value)
            state = None if type == DELETED else value
            if key in open and open[key](state):
                del open[key]
                yield key, state
                if not open:
                    return
