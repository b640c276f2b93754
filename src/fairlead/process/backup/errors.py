"""What stops a copy."""

from __future__ import annotations


class BackupError(Exception):
    """A copy cannot be made or used; the text is for the person who asked for it."""
