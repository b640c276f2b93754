"""Extension servers: versions of groups that others serve behind this server."""
