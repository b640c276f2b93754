"""The revisioned store: an append-only log on disk, followed into a watch cache in memory."""
