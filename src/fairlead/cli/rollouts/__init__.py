"""Rollouts: progress, revisions, and undo."""
