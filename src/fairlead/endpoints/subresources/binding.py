from __future__ import annotations

from collections.abc import Awaitable, Callable

from fairlead.endpoints.answers import Answer
from fairlead.endpoints.api import Api
from fairlead.endpoints.request import Request

HANDLERS: dict[tuple[str, str], Callable[[Api, Request], Awaitable[Answer]]] = {}
