"""The side effects that a webhook can declare."""

from __future__ import annotations

SAFE_EFFECTS = ("None", "NoneOnDryRun")
ALL_EFFECTS = (*SAFE_EFFECTS, "Some", "Unknown")
