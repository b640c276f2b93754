"""A write as a list of steps, from a decoded object to its commit.

Most writes wait for nothing but their commit, so the steps are plain methods (see
`base/waiting.py`). What waits is in `commits` and `retries`.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from fairlead.base import meter, tracing
from fairlead.base.compiled import mypyc_attr
from fairlead.base.deferred import Deferred, Outcome
from fairlead.base.waiting import finish
from fairlead.operations import commits, retries
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.stored_versions import is_served_as_stored
from fairlead.operations.write_pipeline import note_written, send
from fairlead.resources.context import Context
from fairlead.resources.custom.ownership import Unconverted
from fairlead.storage.version import Version
from fairlead.storage.writes import Pending

# A method of a subclass of Write. It returns an awaitable if the write has to wait.
Step = Callable[[Any], Awaitable[object] | None]


@mypyc_attr(allow_interpreted_subclasses=True)
class Write:
    """One write, see `waiting.Run`. The steps leave what they compute in attributes."""

    result: Version

    def __init__(self, api: Api, operation: Operation, options: WriteOptions) -> None:
        self.api = api
        self.operation = operation
        self.options = options
        self.resource = operation.resource
        self.collection = api.collection(operation.resource)
        self.behaviour = api.behaviour(operation.resource)
        self.context: Context = api.context(operation, options.dry_run)
        self.pending: Pending | None = None  # once the store has the write
        self.position = 0  # of the next step
        self.size = 0  # bytes to process, see `Operation.size`

    @property
    def steps(self) -> Sequence[Step]:
        raise NotImplementedError

    def advance(self) -> Awaitable[object] | None:
        steps = self.steps
        try:
            while self.position < len(steps):
                step = steps[self.position]
                self.position += 1
                waiting = step(self)
                if waiting is not None:
                    return waiting
        except BaseException as error:
            return self.failed(error)
        return None

    def failed(self, error: BaseException) -> Awaitable[object] | None:
        """Release what the write has reserved."""
        if isinstance(error, CancelledError):
            self.abandon()
        else:
            self.context.roll_back()
        raise error

    def abandon(self) -> None:
        """Release what the write has reserved, unless it is still committed."""
        if self.pending is not None:
            commits.roll_back_later(self.pending, self.context)
        else:
            self.context.roll_back()

    def offload(self, work: Callable[[], None]) -> Awaitable[None] | None:
        return offload(self.size, work)

    def commit_companions(self) -> Awaitable[object] | None:
        """Before a write to another cluster, commit what belongs to it: no transaction has keys of
        two clusters."""
        store = self.api.store_of(self.collection.resource)
        if store is self.api.store or self.options.dry_run:
            return None
        return commits.commit_companions(self.api, self.operation, self.context)

    def send(self, key: str, value: Object, over: Version | None) -> Awaitable[object]:
        """Send the object to the store."""
        pending = self.pending = send(
            self.api, self.operation, self.collection, key, value, over, self.context
        )
        if tracing.current() is None:
            return pending
        return commits.traced(pending, self.operation)

    def written(self, value: Object) -> Awaitable[object] | None:
        """Take the committed version as the result."""
        assert self.pending is not None
        version = self.pending.version
        note_written(self.api, self.operation, self.collection, version, value, self.context)
        self.operation.result = self.result = version
        if is_served_as_stored(self.resource, version):
            return None
        return retries.show_requested(self)


def run(write: Write) -> Outcome[Version]:
    """Run the steps of a write. The result is the version that it wrote or found."""
    waiting = write.advance()
    if waiting is None:
        return write.result
    if isinstance(waiting, Pending):
        return Committing(write, waiting)
    return finish(write, waiting)


class Committing(Deferred[Version]):
    """The outcome of a write that waits for its commit."""

    def __init__(self, write: Write, pending: Pending) -> None:
        super().__init__()
        self._write = write
        pending.listen(self._committed)

    def _committed(self, error: Exception | None) -> None:
        write = self._write
        try:
            waiting = write.advance() if error is None else write.failed(error)
        except BaseException as raised:
            self.fail(raised)
            return
        if waiting is None:
            self.resolve(write.result)
        elif isinstance(waiting, Pending):
            waiting.listen(self._committed)
        else:
            self.wait_for(finish(write, waiting))

    def cancel(self) -> None:
        super().cancel()
        self._write.abandon()


def offload(size: int, work: Callable[[], None]) -> Coroutine[Any, Any, None] | None:
    """Do work whose cost grows with the object: on the event loop if it is short, else in a thread.
    It may be started again, also because it needs an object in another version that only a webhook
    can convert."""
    try:
        needs = meter.try_on_loop(size, work)
    except Unconverted as error:
        return retries.convert_first(error, size, work)
    return None if needs is None else retries.go_on(needs, size, work)
