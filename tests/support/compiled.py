"""Tests that put functions of their own into classes, which compiled ones do not let them do."""

from __future__ import annotations

import pytest

from fairlead.base.compilation import is_compiled

plain_only = pytest.mark.skipif(is_compiled(), reason="compiled classes cannot be patched")
