"""Coloured text, if the terminal supports it."""

from __future__ import annotations

from fairlead.base.terminal import OWN
from fairlead.cli.screen import Screen

RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN = "31", "32", "33", "34", "35", "36"
BOLD, DIM = "1", "2"


class Paint:
    """Callable that wraps text in colour codes; returns it unchanged without colour support."""

    def __init__(self, screen: Screen) -> None:
        self._on = screen.has_colour

    def __call__(self, text: str, *codes: str) -> str:
        if not self._on or not codes or not text:
            return text
        return f"{OWN}[{';'.join(codes)}m{text}{OWN}[0m"
