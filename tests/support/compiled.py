"""Marks tests that patch classes, which compiled classes do not allow."""

from __future__ import annotations

import pytest

from fairlead.base.compiled import is_compiled

plain_only = pytest.mark.skipif(is_compiled(), reason="compiled classes cannot be patched")
