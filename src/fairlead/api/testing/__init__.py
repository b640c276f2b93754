"""Powers for tests: an API group that is served with `--testing` only.

Its objects are in memory, not in the store, so that restoring a snapshot does not delete the
snapshot itself.
"""

GROUP = "testing.fairlead.dev"
