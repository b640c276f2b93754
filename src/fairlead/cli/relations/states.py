"""The state of objects, from the server's tables and from conditions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlead.cli.relations.items import Item
from fairlead.client import Client, ResourceType
from fairlead.client.errors import ApiError
from fairlead.client.resources import TABLE

# The good status of conditions with the same meaning in every kind. Others are ignored.
_GOOD_STATUS = {
    "Ready": "True",
    "Available": "True",
    "Progressing": "True",
    "ContainersReady": "True",
    "Initialized": "True",
    "PodScheduled": "True",
    "Established": "True",
    "NamesAccepted": "True",
    "Healthy": "True",
    "Synced": "True",
    "Failed": "False",
    "FailureTarget": "False",
    "ReplicaFailure": "False",
    "Stalled": "False",
    "Degraded": "False",
    "MemoryPressure": "False",
    "DiskPressure": "False",
    "PIDPressure": "False",
    "NetworkUnavailable": "False",
    "DisruptionTarget": "False",
}
_GOOD_REASONS = ("PodCompleted",)


@dataclass(frozen=True, slots=True)
class State:
    """Ready and status cells, and the conditions in a bad state (`trouble`)."""

    ready: str = ""
    status: str = ""
    trouble: tuple[str, ...] = ()


UNKNOWN = State()


async def states_of(client: Client, items: Iterable[Item]) -> dict[str, State]:
    """States by uid. Objects that are gone or may not be read are left out."""
    uids_by_kind: dict[tuple[ResourceType, str], set[str]] = {}
    for item in items:
        if not item.is_missing:
            uids_by_kind.setdefault((item.type, item.namespace), set()).add(item.uid)
    states: dict[str, State] = {}

    async def ask(type: ResourceType, namespace: str, uids: set[str]) -> None:
        try:
            pages = client.of(type).pages(namespace, accept=TABLE, includeObject="Object")
            async for table in pages:
                states.update(_of_table(table, uids))
        except ApiError:
            return  # show the tree without these states

    await asyncio.gather(*(ask(*kind, uids) for kind, uids in uids_by_kind.items()))
    return states


def _of_table(table: Mapping[str, Any], uids: set[str]) -> dict[str, State]:
    names = [str(column["name"]) for column in table.get("columnDefinitions") or ()]
    states: dict[str, State] = {}
    for row in table.get("rows") or ():
        value = row.get("object") or {}
        uid = (value.get("metadata") or {}).get("uid")
        if uid in uids:
            states[uid] = _state(dict(zip(names, row["cells"], strict=False)), value)
    return states


def _state(cells: Mapping[str, Any], value: Mapping[str, Any]) -> State:
    ready = cells.get("Ready", cells.get("Completions", ""))
    if "Desired" in cells and "Ready" in cells:
        ready = f"{cells['Ready']}/{cells['Desired']}"
    status = value.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    return State(_text(ready), _text(cells.get("Status", "")), trouble_in(conditions))


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)


def trouble_in(conditions: Any) -> tuple[str, ...]:
    """The conditions in a bad state, such as `Available=False (MinimumReplicasUnavailable)`."""
    listed: Sequence[Any] = conditions if isinstance(conditions, list) else ()
    return tuple(
        _condition_text(condition)
        for condition in listed
        if isinstance(condition, dict) and _is_bad(condition)
    )


def _is_bad(condition: Mapping[str, Any]) -> bool:
    good = _GOOD_STATUS.get(str(condition.get("type")))
    if good is None or condition.get("reason") in _GOOD_REASONS:
        return False
    return condition.get("status") != good


def _condition_text(condition: Mapping[str, Any]) -> str:
    text = f"{condition.get('type')}={condition.get('status')}"
    reason = condition.get("reason")
    return f"{text} ({reason})" if reason else text
