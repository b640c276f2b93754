"""Tells whether the installed package has compiled modules."""

from __future__ import annotations

from importlib.util import find_spec

# Any module of the compiled set: either all of them are compiled or none is
# (building/fairlead_build.py).
_ONE = "fairlead.codec.types.decode"


def is_compiled() -> bool:
    """Find the module's file, without importing it."""
    found = find_spec(_ONE)
    return found is not None and not str(found.origin).endswith(".py")
