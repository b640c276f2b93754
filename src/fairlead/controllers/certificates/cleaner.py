"""Deletes requests: decided ones after an hour, pending ones after a day, and all when their
certificate has expired."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping

from cryptography.x509 import InvalidVersion, load_pem_x509_certificates

from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.codec.types.times import parse_time
from fairlead.controllers.certificates.request_content import REQUESTS
from fairlead.controllers.certificates.states import certificate_of
from fairlead.controllers.framework import Keys
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.certificates.conditions import APPROVED, DENIED, FAILED, conditions_of
from fairlead.storage.version import Change

_DECIDED_SECONDS = 3600.0
_PENDING_SECONDS = 24 * 3600.0


class CertificateCleaner:
    """Keys are names of requests."""

    name = "csrcleaner"
    workers = 1

    def __init__(self, client: Client, dialect: Dialect) -> None:
        self._client = client
        self._unissued_too = dialect.unissued_requests_cleaned

    def follows(self) -> Mapping[str, Keys]:
        return {REQUESTS: _request}

    async def sync(self, key: str) -> float | None:
        request = self._client.find(REQUESTS, "", key)
        if request is None:
            return None
        ends = [*self._ends(request)]
        if not ends:
            return None
        left = min(ends) - clock.time()
        if left > 0:
            return left
        options = DeleteOptions(uid=request["metadata"]["uid"])
        await self._client.delete(REQUESTS, "", key, options)
        return None

    def _ends(self, request: Object) -> Iterable[float]:
        """The times after which a request is to be deleted."""
        conditions = conditions_of(request)
        if not conditions:
            yield _seconds(request["metadata"]["creationTimestamp"]) + _PENDING_SECONDS
        certificate = certificate_of(request)
        for condition in conditions:
            kind, since = condition["type"], condition.get("lastUpdateTime")
            approved = kind == APPROVED and (bool(certificate) or self._unissued_too)
            if since and (approved or kind in (DENIED, FAILED)):
                yield _seconds(since) + _DECIDED_SECONDS
            if kind == APPROVED and certificate:
                yield from _end_of(b64decode(certificate))


def _request(change: Change) -> Iterable[str]:
    return () if change.after is None else (change.name,)


def _seconds(text: str) -> float:
    return parse_time(text).timestamp()


def _end_of(pem: bytes) -> Iterable[float]:
    try:
        yield load_pem_x509_certificates(pem)[0].not_valid_after_utc.timestamp()
    except (ValueError, InvalidVersion):
        return  # not parseable; the other rules apply
