"""How far a long list has come, for a person who waits at a terminal."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from fairlead.base.terminal import unguarded
from fairlead.cli.screen import Screen

if TYPE_CHECKING:
    from rich import progress as bars

_PATIENCE = 1.0  # seconds before anything is shown


class Progress:
    """A line on the standard error that goes away again. Nothing unless both the output and the
    errors go to a terminal, and only after a second."""

    def __init__(self, screen: Screen) -> None:
        self._wanted = screen.is_terminal and screen.errors.isatty()
        self._screen = screen
        self._begin = monotonic()
        self._count = 0
        self._bar: bars.Progress | None = None

    def seen(self, page: dict[str, Any]) -> None:
        """Another page of a list has come; `clear` before anything else is printed."""
        metadata = page.get("metadata") or {}
        self._count += len(page.get("items") or page.get("rows") or ())
        more = metadata.get("continue")
        if not self._wanted or not more or monotonic() - self._begin < _PATIENCE:
            return
        remaining = metadata.get("remainingItemCount")
        self._show(self._count + remaining if isinstance(remaining, int) else None)

    def _show(self, total: int | None) -> None:
        from rich import progress as bars
        from rich.console import Console

        self._screen.flush()
        if self._bar is None:
            self._bar = bars.Progress(
                bars.BarColumn(),
                bars.TextColumn("{task.completed:.0f} of {task.total:.0f} objects")
                if total is not None
                else bars.TextColumn("{task.completed:.0f} objects"),
                console=Console(file=unguarded(self._screen.errors)),
                transient=True,
            )
            self._bar.add_task("", total=total)
        self._bar.update(self._bar.task_ids[0], completed=self._count, total=total)
        self._bar.start()

    def clear(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.clear()
