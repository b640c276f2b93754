"""Waiting until objects are as they should be: told by a watch, never by asking again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from fairlead.client.resources import Object, Resource
from fairlead.client.watch import DELETED, Key, key_of, listed_objects

Holds = Callable[[Object | None], bool]  # of an object, or of None where there is none


def exists(value: Object | None) -> bool:
    return value is not None


def is_gone(value: Object | None) -> bool:
    return value is None


def is_other_than(uid: str) -> Holds:
    """That one object is gone, though there may be another one of its name."""
    return lambda value: value is None or value["metadata"].get("uid") != uid


def has_condition(type: str, status: str = "True") -> Holds:
    """A condition of the status, in whatever case, that is about the newest generation."""

    def holds(value: Object | None) -> bool:
        state = (value or {}).get("status")
        listed = state.get("conditions") if isinstance(state, dict) else None
        for one in listed if isinstance(listed, list) else ():
            if not isinstance(one, dict) or str(one.get("type")).casefold() != type.casefold():
                continue
            wanted = (value or {})["metadata"].get("generation") or 0
            observed = one.get("observedGeneration", (state or {}).get("observedGeneration"))
            if isinstance(observed, int) and observed < wanted:
                return False
            return str(one.get("status")).casefold() == status.casefold()
        return False

    return holds


def has_value(find: Callable[[Object], Sequence[Any]], wanted: Any) -> Holds:
    """That one value, and only one, is found in the object, and that it is the wanted one."""

    def holds(value: Object | None) -> bool:
        return value is not None and list(find(value)) == [wanted]

    return holds


async def wait_until(
    resource: Resource,
    name: str,
    holds: Holds,
    namespace: str | None = None,
    timeout: float | None = None,
) -> Object | None:
    """The object when it is so, None where it is not there; raises TimeoutError, and what a watch
    raises."""
    space = resource.space(namespace)
    settling = settled(resource, {(space, name): holds}, namespace, timeout)
    async with aclosing(settling) as found:
        async for _, value in found:
            return value
    raise TimeoutError(f"{resource.type.name}/{name} did not get there in time")


async def settled(
    resource: Resource,
    wanted: Mapping[Key, Holds],
    namespace: str | None = None,
    timeout: float | None = None,
) -> AsyncGenerator[tuple[Key, Object | None], None]:
    """Objects as they become what they should be, each once, over one watch; ends when all are,
    or when the time is over. `namespace` is that of all of them, or "" where they differ."""
    open = dict(wanted)
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
