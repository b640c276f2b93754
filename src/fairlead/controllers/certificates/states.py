"""The state of a signing request."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.codec.types.times import now
from fairlead.controllers.certificates.request_content import REQUESTS
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.certificates.conditions import (
    APPROVED,
    DENIED,
    FAILED,
    conditions_of,
    of_type,
)


def certificate_of(request: Object) -> str:
    """The certificate in base64; empty before it is signed."""
    certificate: str = (request.get("status") or {}).get("certificate") or ""
    return certificate


def is_undecided(request: Object) -> bool:
    """Whether a request has no decision yet: it is not approved, denied or signed."""
    decided = of_type(request, APPROVED) or of_type(request, DENIED)
    return not decided and not certificate_of(request)


def is_to_be_signed(request: Object) -> bool:
    if certificate_of(request) or not of_type(request, APPROVED):
        return False
    return not of_type(request, DENIED) and not of_type(request, FAILED)


def with_condition(request: Object, kind: str, reason: str, message: str) -> Object:
    condition = {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastUpdateTime": now(),
    }
    status = {**(request.get("status") or {})}
    return {**request, "status": {**status, "conditions": [*conditions_of(request), condition]}}


async def write(
    client: Client,
    request: Object,
    subresource: str,
    still: Callable[[Object], bool],
    change: Callable[[Object], Object],
) -> None:
    """Change a request, if its uid is the same and `still` holds for its newest version."""
    metadata = request["metadata"]

    def changed(newest: Object) -> Object:
        same = newest["metadata"]["uid"] == metadata["uid"]
        return change(newest) if same and still(newest) else newest

    await client.change(REQUESTS, "", metadata["name"], changed, subresource)
