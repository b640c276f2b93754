"""Caches the objects of a resource and calls handlers when they change."""

from __future__ import annotations

from fairlead.client.informer.informer import Informer

__all__ = ["Informer"]
