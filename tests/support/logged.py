"""What the server has logged, with its fields."""

from __future__ import annotations

import pytest

from fairlead.base.logs import described


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """The captured lines as the text format shows them, without time and level."""
    return "\n".join(map(described, caplog.records))
