"""Whether this is the package with compiled modules, or the plain one."""

from __future__ import annotations

from importlib.util import find_spec

# One of those that are compiled: all of them are, or none (building/fairlead_build.py).
_ONE = "fairlead.codec.types.decode"


def is_compiled() -> bool:
    """Looks for the file without running it."""
    found = find_spec(_ONE)
    return found is not None and not str(found.origin).endswith(".py")
