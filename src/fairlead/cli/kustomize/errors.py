"""The error of a kustomization that cannot be built."""

from __future__ import annotations

from fairlead.cli.errors import CommandError


class KustomizeError(CommandError):
    """A kustomization, or a file that it names, is wrong or asks for what is not supported."""
