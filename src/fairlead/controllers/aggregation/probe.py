"""Checks whether an extension server is usable: its Service and Endpoints, and a discovery
request."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from fairlead.controllers.aggregation.calls import ExtensionCalls
from fairlead.controllers.aggregation.extension import Extension
from fairlead.wire.outgoing.response import CallError
from fairlead.wire.outgoing.webhooks import Find, Webhooks

Object = dict[str, Any]

SERVICES, ENDPOINTS = "core/v1/services", "core/v1/endpoints"
_ATTEMPTS = 5  # some endpoints of a service may be down
_SECONDS = 5.0  # timeout of each attempt
_HEAD_START = 0.25  # seconds between the starts of attempts
_MAX_BYTES = 2 * 1024 * 1024


class ProbeResult(NamedTuple):
    """The content of the condition. `is_probed`: a request was sent to the server."""

    status: str
    reason: str
    message: str
    is_probed: bool = False

    @property
    def is_available(self) -> bool:
        return self.status == "True"


PASSED = ProbeResult("True", "Passed", "all checks passed", is_probed=True)


class Prober:
    """`find` reads Services and Endpoints, `services` knows configured addresses of external
    services."""

    def __init__(self, find: Find, services: Webhooks, calls: ExtensionCalls) -> None:
        self._find = find
        self._services = services
        self._calls = calls

    async def probe(self, extension: Extension) -> ProbeResult:
        service = extension.service_namespace, extension.service_name, extension.service_port
        if self._services.mapped(*service) is None:
            failure = self._check_service(*service)
            if failure is not None:
                return failure
        return await self._send_attempts(extension)

    def _check_service(self, namespace: str, name: str, port: int) -> ProbeResult | None:
        """Check a Service and its Endpoints without sending a request; None if both are usable."""
        service_text = f'service/{name} in "{namespace}"'
        service = self._find(SERVICES, namespace, name)
        if service is None:
            return ProbeResult("False", "ServiceNotFound", f"{service_text} is not present")
        spec = service["spec"]
        if spec.get("type", "ClusterIP") != "ClusterIP":
            return None  # other types need no endpoints
        listening = next(
            (entry for entry in spec.get("ports") or () if entry["port"] == port), None
        )
        if listening is None:
            return ProbeResult(
                "False", "ServicePortError", f"{service_text} is not listening on port {port}"
            )
        endpoints = self._find(ENDPOINTS, namespace, name)
        if endpoints is None:
            return ProbeResult(
                "False", "EndpointsNotFound", f"cannot find endpoints for {service_text}"
            )
        port_name = listening.get("name", "")
        if not _has_addresses(endpoints, port_name):
            message = f'endpoints for {service_text} have no addresses with port name "{port_name}"'
            return ProbeResult("False", "MissingEndpoints", message)
        return None

    async def _send_attempts(self, extension: Extension) -> ProbeResult:
        """Send up to five overlapping attempts; the first success wins."""
        failure, started = "", 0
        running: set[asyncio.Task[str]] = set()
        try:
            while running or started < _ATTEMPTS:
                if started < _ATTEMPTS:
                    running.add(asyncio.create_task(self._attempt(extension)))
                    started += 1
                finished, running = await asyncio.wait(
                    running,
                    timeout=_HEAD_START if started < _ATTEMPTS else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for task in finished:
                    failure = task.result()
                    if not failure:
                        return PASSED
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        return ProbeResult("False", "FailedDiscoveryCheck", failure, is_probed=True)

    async def _attempt(self, extension: Extension) -> str:
        """Send a discovery request; returns an error text or ""."""
        path = extension.path
        url = f"https://{extension.host}:{extension.service_port}{path}"
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await self._calls.fetch(
                    extension, path, timeout=2 * _SECONDS, maximum=_MAX_BYTES
                )
        except TimeoutError:
            late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
            return f'failing or missing response from {url}: Get "{url}": {late}'
        except CallError as error:
            return f'failing or missing response from {url}: Get "{url}": {error}'
        if 200 <= answer.status < 300:
            return ""
        return f"failing or missing response from {url}: bad status from {url}: {answer.status}"


def _has_addresses(endpoints: Object, port_name: str) -> bool:
    return any(
        subset.get("addresses")
        and any(port.get("name", "") == port_name for port in subset.get("ports") or ())
        for subset in endpoints.get("subsets") or ()
    )
