"""The error of backup and restore."""

from __future__ import annotations


class BackupError(Exception):
    """A copy cannot be made or used; the message is for the user."""
