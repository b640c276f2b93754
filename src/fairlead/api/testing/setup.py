"""Installs all testing powers; used with `--testing` only."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.api.chain import Handler
from fairlead.api.testing import clock_moves, pauses
from fairlead.api.testing.faults import Faults
from fairlead.api.testing.handler import PowerfulHandler
from fairlead.api.testing.idle import IdleWaits
from fairlead.api.testing.record import Record
from fairlead.api.testing.snapshots import Snapshots
from fairlead.base.files import text_beside
from fairlead.operations.api import Api


class Powers:
    """The testing powers of a server. Call `handler` before the first request. `under_way` counts
    reading and writing requests in progress."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.record = Record()
        self.under_way: Sequence[int] = (0, 0)
        api.resources.read(text_beside(__file__, "powers.table"))

    def handler(self, address: str) -> Handler:
        """The handler chain, including the testing group."""
        api, faults, snapshots = self._api, Faults(self._api), Snapshots(self._api.store)
        chain = PowerfulHandler(api, address, faults, self.record, snapshots)
        chain.handlers = {
            **chain.handlers,
            **clock_moves.handlers(),
            **faults.handlers(),
            **IdleWaits(api, lambda: sum(self.under_way)).handlers(),
            **pauses.handlers(api.work),
            **self.record.handlers(),
            **snapshots.handlers(),
        }
        return chain
