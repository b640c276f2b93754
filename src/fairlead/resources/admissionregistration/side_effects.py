"""What a webhook does beside answering."""

from __future__ import annotations

SAFE_EFFECTS = ("None", "NoneOnDryRun")
ALL_EFFECTS = (*SAFE_EFFECTS, "Some", "Unknown")
