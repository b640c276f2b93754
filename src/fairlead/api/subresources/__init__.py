"""Handlers of resources and subresources that are not plain storage.

Modules that most servers need define `HANDLERS`, from (resource key, verb) to the handler function;
the others are loaded lazily.
"""

from __future__ import annotations

from importlib import import_module

from fairlead.api.answers import Answer, Verb
from fairlead.api.request import Request
from fairlead.api.subresources import binding, eviction, reviews
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation

_STREAMED = ("create", "get")
_PROXIED = ("create", "delete", "get", "patch", "update", "")  # OPTIONS has no verb
# Resource, handler and verbs of lazily loaded modules.
_LATER: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("componentstatuses", "component_statuses.get_component", ("get",)),
    ("componentstatuses", "component_statuses.list_components", ("list",)),
    ("pods/log", "logs.read_log", ("get",)),
    ("pods/exec", "streams.stream", _STREAMED),
    ("pods/attach", "streams.stream", _STREAMED),
    ("pods/portforward", "streams.forward_port", _STREAMED),
    ("pods/proxy", "proxies.proxy_to_pod", _PROXIED),
    ("nodes/proxy", "proxies.proxy_to_node", _PROXIED),
    ("services/proxy", "proxies.proxy_to_service", _PROXIED),
)


def _loaded_when_asked(place: str) -> Verb:
    module, name = place.split(".")

    async def answer(api: Api, request: Request, operation: Operation) -> Answer:
        verb: Verb = getattr(import_module(f"{__name__}.{module}"), name)
        return await verb(api, request, operation)

    return answer


HANDLERS: dict[tuple[str, str], Verb] = {
    **binding.HANDLERS,
    **eviction.HANDLERS,
    **reviews.HANDLERS,
    **{
        (f"core/v1/{resource}", verb): _loaded_when_asked(place)
        for resource, place, verbs in _LATER
        for verb in verbs
    },
}
