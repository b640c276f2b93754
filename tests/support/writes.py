"""The writes of `fairlead.operations` as coroutines, for tests that call them directly."""

from __future__ import annotations

from typing import Any

from fairlead.base.waiting import result_of
from fairlead.operations import apply as applies
from fairlead.operations import create as creates
from fairlead.operations import update as updates
from fairlead.storage.version import Version


async def create(*args: Any, **kwargs: Any) -> Version:
    return await result_of(creates.create(*args, **kwargs))


async def update(*args: Any, **kwargs: Any) -> Version:
    return await result_of(updates.update(*args, **kwargs))


async def apply(*args: Any, **kwargs: Any) -> Version:
    return await result_of(applies.apply(*args, **kwargs))
