"""Live view of objects in deletion: since when, and what blocks them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fairlead.base.dialect import Dialect
from fairlead.base.terminal import printable, unguarded
from fairlead.cli.delete.departures import DeletedObject, DeletionWait
from fairlead.cli.delete.dependents import Dependents
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import named
from fairlead.client.resources import Object

if TYPE_CHECKING:
    from rich.table import Table

FOREGROUND = "foregroundDeletion"
_FIRST = 1.0  # seconds until the view appears: most objects are gone by then
_BETWEEN = 0.5
_MAX_ROWS = 20
_MAX_NAMED = 3


@asynccontextmanager
async def watching(at: Invocation, departures: DeletionWait) -> AsyncIterator[None]:
    """Show the remaining objects while the block runs, if the output is a terminal."""
    if not at.screen.is_terminal:
        yield
        return
    task = asyncio.create_task(_show(at, departures))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _show(at: Invocation, departures: DeletionWait) -> None:
    await asyncio.sleep(_FIRST)
    from rich.console import Console
    from rich.live import Live

    console = Console(
        file=unguarded(at.screen.out),
        no_color=not at.screen.has_colour,
        width=at.screen.width,
        force_terminal=True,
        legacy_windows=False,
    )
    dependents = Dependents(at.client)
    dialect = await at.client.discovery.dialect()
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while True:
            remaining = departures.remaining()
            await dependents.refresh(
                {
                    one.uid: one.namespace
                    for one, value in remaining
                    if FOREGROUND in _finalizers(value)
                }
            )
            live.update(_table(remaining, dependents, dialect), refresh=True)
            await asyncio.sleep(_BETWEEN)


def _table(
    remaining: list[tuple[DeletedObject, Object]], dependents: Dependents, dialect: Dialect
) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("STILL THERE", "SINCE", "HELD BY"):
        table.add_column(column, overflow="fold")
    for one, value in remaining[:_MAX_ROWS]:
        held = held_by(one.resource.type.kind, value, dependents.of(one.uid))
        table.add_row(
            Text(named(one.resource.type, one.name), style="cyan"),
            Text(_since(value, dialect)),
            Text(printable(held), style="yellow"),
        )
    if len(remaining) > _MAX_ROWS:
        table.add_row(Text(f"and {len(remaining) - _MAX_ROWS} more"), Text(""), Text(""))
    return table


def _finalizers(value: Object) -> list[str]:
    return list((value.get("metadata") or {}).get("finalizers") or ())


def _since(value: Object, dialect: Dialect) -> str:
    """Time since the deletion was requested."""
    metadata = value.get("metadata") or {}
    try:
        moment = datetime.fromisoformat(str(metadata.get("deletionTimestamp")))
    except ValueError:
        return "-"
    passed = (datetime.now(UTC) - moment).total_seconds()
    if not dialect.deletion_starts_now:  # deletionTimestamp is the end of the grace period
        passed += metadata.get("deletionGracePeriodSeconds") or 0
    return f"{max(0, int(passed))}s"


def held_by(kind: str, value: Object, dependents: list[str]) -> str:
    """Why a deleted object still exists."""
    reasons = [f"finalizer {name}" for name in _finalizers(value) if name != FOREGROUND]
    if FOREGROUND in _finalizers(value):
        reasons.append(_waiting_for(dependents))
    if kind == "Namespace":
        reasons += _left_in_namespace(value)
    grace = (value.get("metadata") or {}).get("deletionGracePeriodSeconds")
    if not reasons and grace:
        reasons.append(f"it has {grace}s to end")
    return "; ".join(reasons) or "-"


def _left_in_namespace(value: Object) -> list[str]:
    """The remaining content from the conditions of a terminating namespace, or else its
    finalizers."""
    conditions: list[dict[str, Any]] = (value.get("status") or {}).get("conditions") or []
    left = [
        str(condition.get("message"))
        for condition in conditions
        if condition.get("status") == "True" and str(condition.get("type")).endswith("Remaining")
    ]
    own = (value.get("spec") or {}).get("finalizers") or ()
    return left or [f"finalizer {name}" for name in own]


def _waiting_for(dependents: list[str]) -> str:
    if not dependents:
        return "what it owns"
    more = len(dependents) - _MAX_NAMED
    listed = ", ".join(dependents[:_MAX_NAMED])
    return f"what it owns: {listed}" + (f" and {more} more" if more > 0 else "")
