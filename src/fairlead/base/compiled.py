"""Support for mypyc (see building/): annotations, whether the package is compiled, and by
which compilers."""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:

    def mypyc_attr(**_options: bool) -> Callable[[type], type]:
        return lambda defined: defined


_PACKAGE = Path(__file__).parents[1]
# Any module of the compiled set: either all of them are compiled or none is
# (building/fairlead_build.py).
_COMPILED_MODULE = "codec/types/decode"


def is_compiled() -> bool:
    """Find the module's file, without importing it."""
    return any((_PACKAGE / f"{_COMPILED_MODULE}{suffix}").exists() for suffix in EXTENSION_SUFFIXES)


def compiler() -> str:
    """Return the names and versions of the compilers, as the build recorded them; `none` if the
    package is plain Python."""
    if not is_compiled():
        return "none"
    return _PACKAGE.joinpath("compiler.txt").read_text().strip()
