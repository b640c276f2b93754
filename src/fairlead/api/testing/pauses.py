"""Pauses and resumes single controllers."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.api.testing.memory_objects import Handlers, acting, reading
from fairlead.base.errors import not_found
from fairlead.operations.api import Object, Work
from fairlead.operations.operation import Operation

KEY = "testing/v1/controllers"


def handlers(work: Mapping[str, Work]) -> Handlers:
    """The handlers of Controller objects. `work` maps controller names to their work queues."""

    def document(name: str) -> Object:
        found = work[name]
        status = {
            "paused": found.is_paused,
            "waiting": len(found),
            "working": found.working,
            "retries": found.retries,
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
        **reading(KEY, lambda: {name: document(name) for name in sorted(work)}),
        (f"{KEY}/pause", "create"): acting(pause),
        (f"{KEY}/resume", "create"): acting(resume),
    }
