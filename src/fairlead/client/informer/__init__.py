"""The objects of a resource kept at hand, and functions that are called when they change."""

from __future__ import annotations

from fairlead.client.informer.informer import Informer

__all__ = ["Informer"]
