"""What others wrote, in messages that end up on a terminal."""

from __future__ import annotations


def harmless(text: str) -> str:
    """Nothing but characters that show, and ends of lines."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else "�" for char in text)
