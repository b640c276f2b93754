"""Progress bars and live tables on a terminal, by rich. A lazy module: most commands draw none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from typing import Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text


class ProgressBar:
    """Counts objects. It disappears when it is stopped."""

    def __init__(self, file: TextIO, total: int | None) -> None:
        shown = "{task.completed:.0f} of {task.total:.0f} objects"
        text = shown if total is not None else "{task.completed:.0f} objects"
        console = Console(file=file)
        self._progress = Progress(BarColumn(), TextColumn(text), console=console, transient=True)
        self._task = self._progress.add_task("", total=total)

    def show(self, completed: int, total: int | None) -> None:
        self._progress.update(self._task, completed=completed, total=total)
        self._progress.start()

    def stop(self) -> None:
        self._progress.stop()


class LiveTable:
    """A table that is drawn again in its place, and disappears at the end. `columns` have a title
    and a style."""

    def __init__(
        self, file: TextIO, columns: Sequence[tuple[str, str]], *, has_colour: bool
    ) -> None:
        console = Console(
            file=file,
            no_color=not has_colour,
            width=get_terminal_size().columns,
            force_terminal=True,
            legacy_windows=False,
        )
        self._columns = columns
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._live.stop()

    def show(self, rows: Iterable[Sequence[str]]) -> None:
        """Cells may be missing at the end of a row."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for title, _ in self._columns:
            table.add_column(title, overflow="fold")
        for row in rows:
            styles = (style if len(row) == len(self._columns) else "" for _, style in self._columns)
            table.add_row(*map(Text, row, styles))
        self._live.update(table, refresh=True)
