"""Annotations for mypyc (see building/); no-ops in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:

    def mypyc_attr(**_said: bool) -> Callable[[type], type]:
        return lambda defined: defined
