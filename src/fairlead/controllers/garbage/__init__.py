"""The garbage collector: what owners leave behind goes with them, before them, or is set free."""

from __future__ import annotations

from fairlead.controllers.garbage.collector import GarbageCollector as GarbageCollector
