"""Pauses and resumes single controllers."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.api.testing.memory_objects import Handlers, create_handler, read_handlers
from fairlead.base.errors import not_found
from fairlead.operations.api import Object, Work
from fairlead.operations.operation import Operation

KEY = "testing/v1/controllers"


def handlers(work: Mapping[str, Work]) -> Handlers:
    """The handlers of Controller objects. `work` maps controller names to their work queues."""

    def document(name: str) -> Object:
        queue = work[name]
        status = {
            "paused": queue.is_paused,
            "waiting": len(queue),
            "working": queue.working,
            "retries": queue.retries,
        }
        return {"metadata": {"name": name}, "status": status}

    def find(operation: Operation) -> Work:
        if operation.name not in work:
            raise not_found(operation.resource.main.ref(operation.name))
        return work[operation.name]

    async def pause(operation: Operation, value: Object) -> Object:
        find(operation).pause()
        return document(operation.name)

    async def resume(operation: Operation, value: Object) -> Object:
        find(operation).resume()
        return document(operation.name)

    return {
        **read_handlers(KEY, lambda: {name: document(name) for name in sorted(work)}),
        (f"{KEY}/pause", "create"): create_handler(pause),
        (f"{KEY}/resume", "create"): create_handler(resume),
    }
