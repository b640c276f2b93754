"""The testing API: when a server is idle."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from support.api import on_api

from fairlead.api.testing.idle import IdleWaits
from fairlead.base.errors import StatusError
from fairlead.controllers.queue import WorkQueue
from fairlead.operations.api import Api


def test_time_in_which_nobody_could_look_is_no_rest(tmp_path: Path) -> None:
    """A machine with much to do keeps the server from its work as well as from the look at it."""

    async def work(api: Api) -> None:
        queue = api.work["busy"] = WorkQueue[str]()
        waiting = asyncio.create_task(
            IdleWaits(api, lambda: 1).wait_until_idle(timeout=60, quiet=0.05)
        )
        await asyncio.sleep(0)
        time.sleep(0.1)  # noqa: ASYNC251 - the loop is to be held
        queue.add("key")
        await asyncio.sleep(0.02)
        assert not waiting.done()
        queue.done(await queue.get())
        await waiting

    on_api(tmp_path, work)


def test_who_is_busy_has_not_rested_however_short_the_rest_may_be(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        queue = api.work["busy"] = WorkQueue[str]()
        queue.add("key")
        with pytest.raises(StatusError, match="controllers/busy: 1 objects to look at"):
            await IdleWaits(api, lambda: 1).wait_until_idle(timeout=0.05, quiet=0)

    on_api(tmp_path, work)
