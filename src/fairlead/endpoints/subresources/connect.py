"""Reaching into what runs: logs, exec, attach, port forwarding and proxies.

Many servers are never asked for any of it: the module that answers is loaded when one is.
"""

from __future__ import annotations

from importlib import import_module

from fairlead.endpoints.answers import Answer, Verb
from fairlead.endpoints.request import Request
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation

_STREAMED = ("create", "get")
_PROXIED = ("create", "delete", "get", "patch", "update", "")  # OPTIONS has none
# Subresources, what answers, and to which verbs.
_ROWS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
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
        verb: Verb = getattr(import_module(f"{__package__}.{module}"), name)
        return await verb(api, request, operation)

    return answer


HANDLERS: dict[tuple[str, str], Verb] = {
    (f"core/v1/{subresource}", verb): _loaded_when_asked(place)
    for subresource, place, verbs in _ROWS
    for verb in verbs
}
