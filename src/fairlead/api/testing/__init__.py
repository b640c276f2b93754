"""What only tests may do to a server: an API group that is served with `--testing` alone.

Nothing of it is stored: going back to a snapshot must not make the server forget the snapshot.
"""

GROUP = "testing.fairlead.dev"
