"""What the audit log wants to know of operations that come from no request."""

from __future__ import annotations

from typing import Any, Protocol

from fairlead.operations.operation import Operation


class Told(Protocol):
    """An operation that the audit log follows."""

    async def ended(self, failure: BaseException | None) -> None:
        """Call it once, whatever came of the operation."""


class Auditor(Protocol):
    async def begun(self, operation: Operation, value: Any) -> Told:
        """Call it before anything is done; `value` is the object that goes in, if any."""
