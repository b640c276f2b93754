"""The garbage collector: deletes dependents of deleted owners (background or foreground), or
orphans them."""

from __future__ import annotations

from fairlead.controllers.garbage.collector import GarbageCollector as GarbageCollector
