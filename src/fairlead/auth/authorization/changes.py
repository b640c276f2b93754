"""How authorization learns of the objects it depends on."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.storage.change import Change

Listener = Callable[[Change], None]

# Calls a listener with every object of a resource (our name for it, `rbac/v1/roles`) that exists,
# and then after each commit, before the write is answered. A resource that is not served has none.
Follow = Callable[[str, Listener], None]
