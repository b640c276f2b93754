"""Numbers that others write as digits."""

from __future__ import annotations

_LONGEST = 18  # digits; all such numbers fit into 64 bits


def whole_number(text: str) -> int | None:
    """Return the number that a text of ASCII digits stands for, None for any other text and for
    more than 18 digits. `str.isdigit` accepts digits that `int` refuses, such as a superscript, and
    `int` refuses thousands of digits."""
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST:
        return None
    return int(text)
