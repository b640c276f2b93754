"""What the commands about rollouts have in common."""

from __future__ import annotations

from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation

MANAGER = "fairlead-rollout"


def check_named(at: Invocation) -> None:
    """Raises CommandFailed where nothing is named."""
    if not at.options.words and not at.options.filename:
        raise CommandFailed("error: required resource not specified")
