"""The words by which flags, and some annotations, say yes and no."""

from __future__ import annotations

_WORDS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def yes_or_no(text: str) -> bool | None:
    """Yes or no, or None for any other word."""
    return _WORDS.get(text)
