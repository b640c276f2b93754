"""What controllers that concern every resource ask about definitions."""

from __future__ import annotations

DEFINITIONS = "apiextensions/v1/customresourcedefinitions"
