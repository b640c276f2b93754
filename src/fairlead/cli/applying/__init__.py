"""Applying configurations: server-side, client-side, conflicts and what is pruned."""
