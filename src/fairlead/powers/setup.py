"""Serving the powers, of which nothing is there unless `--testing` asks for it."""

from __future__ import annotations

from importlib.resources import files

from fairlead.endpoints.chain import Handler
from fairlead.powers import clock_moves
from fairlead.powers.snapshots import Snapshots


def give_powers(handler: Handler) -> None:
    """Add the group to what is served. Call it before the first request."""
    api = handler.api
    api.resources.read(files(__package__).joinpath("powers.table").read_text())
    handler.handlers = {
        **handler.handlers,
        **clock_moves.handlers(),
        **Snapshots(api.store).handlers(),
    }
