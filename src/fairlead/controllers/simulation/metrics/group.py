"""Adds the metrics group to a server with simulated nodes."""

from __future__ import annotations

from fairlead.base.files import text_beside
from fairlead.resources.registry import Resources


def add_metrics_group(resources: Resources) -> None:
    """Serve the group, unless an APIService of the user replaces it."""
    resources.read(text_beside(__file__, "group.table"))


def metrics_roles() -> str:
    """The roles for the group, in the notation of bootstrap roles."""
    return text_beside(__file__, "roles.table")
