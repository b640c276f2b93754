"""Apply: server-side, client-side, conflicts and pruning."""
