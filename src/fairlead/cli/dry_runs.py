"""The flag `--dry-run` of commands that change objects."""

from __future__ import annotations

import argparse

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError

NONE, CLIENT, SERVER = "none", "client", "server"
_NOTES = {NONE: "", CLIENT: " (dry run)", SERVER: " (server dry run)"}


def add_dry_run_flag(parser: ArgumentReader) -> None:
    parser.add_argument(
        "--dry-run",
        metavar="WHERE",
        nargs="?",
        const="unchanged",
        default=NONE,
        help=f"{CLIENT}: send nothing; {SERVER}: send it and keep nothing",
    )


class DryRun:
    """Where a change stops short of being made; raises UsageError."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.where: str = options.dry_run
        if self.where not in _NOTES:
            raise UsageError(
                f'Invalid dry-run value ({self.where}). Must be "none", "server", or "client".'
            )

    @property
    def on_client(self) -> bool:
        return self.where == CLIENT

    @property
    def query(self) -> dict[str, str]:
        return {"dryRun": "All"} if self.where == SERVER else {}

    @property
    def note(self) -> str:
        """What is said behind a result."""
        return _NOTES[self.where]
