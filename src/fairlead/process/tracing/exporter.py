"""Sends spans to a collector by OTLP over gRPC."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from urllib.parse import unquote

from fairlead import __version__
from fairlead.base.logs import Logger, Tally
from fairlead.base.metrics import REGISTRY
from fairlead.base.tracing import BATCH, DROPPED, Span, Tracer, Value
from fairlead.process.tracing.configuration import Tracing
from fairlead.process.tracing.otlp import EXPORT, encode_request, encode_resource
from fairlead.wire.grpc.channel import Channel
from fairlead.wire.grpc.failures import CallFailed

logger = Logger("fairlead.tracing")

EXPORTED = REGISTRY.counter("fairlead_trace_spans_exported", "Spans that the collector has taken.")

_SERVICE = "apiserver"  # name of the service, as the reference calls itself
_DELAY = 1.0  # seconds in which spans are collected before they are sent
_TIMEOUT = 10.0
_ATTEMPTS = 5
_FIRST_PAUSE = 1.0
_STOP_TIMEOUT = 2.0


class Exporter:
    """Exports the ended spans of a tracer in batches. A batch that the collector does not take is
    retried for half a minute, then dropped; meanwhile the bounded queue of the tracer fills."""

    def __init__(self, tracing: Tracing, address: str) -> None:
        self.tracer = Tracer(tracing.rate)
        headers = tuple(_pairs("OTEL_EXPORTER_OTLP_HEADERS").items())
        self._collector = Channel(tracing.url, metadata=headers)
        attributes: dict[str, Value] = {
            "service.name": _SERVICE,
            "service.instance.id": address,
            "service.version": __version__,
            **_pairs("OTEL_RESOURCE_ATTRIBUTES"),
        }
        self._resource = encode_resource(attributes)
        self._failures = Tally(logger, logging.WARNING, "traces cannot be exported")
        self._unsent: list[Span] = []

    async def run(self) -> None:
        """Export for ever."""
        tracer = self.tracer
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(tracer.has_batch.wait(), _DELAY)
            while tracer.ended:
                await self._export_batch()

    async def close(self) -> None:
        """Send the spans that are left, if the collector takes them soon."""
        if self._unsent or self.tracer.ended:
            with suppress(TimeoutError):
                async with asyncio.timeout(_STOP_TIMEOUT):
                    while self._unsent or self.tracer.ended:
                        await self._export_batch(attempts=1)
        await self._collector.close()

    async def _export_batch(self, attempts: int = _ATTEMPTS) -> None:
        ended = self.tracer.ended
        if not self._unsent:
            self._unsent = [ended.popleft() for _ in range(min(BATCH, len(ended)))]
        spans = self._unsent
        if len(ended) < BATCH:
            self.tracer.has_batch.clear()
        pause = _FIRST_PAUSE
        request = encode_request(self._resource, __version__, spans)
        for left in reversed(range(attempts)):
            try:
                await self._collector.call(EXPORT, request, _TIMEOUT)
            except CallFailed as error:
                self._failures.add(error.code, str(error))
                if not left or not error.is_away:
                    DROPPED.add(len(spans), (error.code,))
                    break
            else:
                EXPORTED.add(len(spans))
                break
            await asyncio.sleep(pause)
            pause *= 2
        self._unsent = []


def _pairs(variable: str) -> dict[str, str]:
    """The `name=value,…` of an environment variable of OpenTelemetry."""
    pairs = (pair.partition("=") for pair in os.environ.get(variable, "").split(","))
    return {
        name.strip(): unquote(value.strip()) for name, _, value in pairs if name.strip() and value
    }
