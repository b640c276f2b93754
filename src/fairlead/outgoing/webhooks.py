"""Calling webhooks that objects name: by a URL, or as a service of the cluster."""

from __future__ import annotations

import base64
import random
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from fairlead.bounded import Bounded
from fairlead.outgoing.addresses import AddressPolicy, NotAllowed
from fairlead.outgoing.client import Caller, CallError, Reply
from fairlead.outgoing.proxies import proxy_of_environment

Object = dict[str, Any]
# Reads an object by our name for its resource, namespace and name.
Find = Callable[[str, str, str], Object | None]

_HEADERS = {"content-type": "application/json", "accept": "application/json"}


class AddressMapError(ValueError):
    """The text of `--service-address-map` is not a map."""


def parse_address_map(text: str) -> dict[str, str]:
    """`namespace/name[:port]=host:port,…` as a dict; raises AddressMapError."""
    found = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        service, equals, address = part.partition("=")
        host, colon, port = address.rpartition(":")
        if not equals or not colon or not host or not port.isdigit() or "/" not in service:
            raise AddressMapError(f"{part!r} is not namespace/name[:port]=host:port")
        found[service] = address
    return found


@dataclass(frozen=True, slots=True)
class _Goal:
    """Where a call goes: the URL as messages show it, and the address if it is another."""

    url: str
    address: str = ""
    server_name: str = ""
    trusted: bool = True  # the address is not one that users wrote


class Webhooks:
    """`find` reads services and their endpoints. `addresses` says where services are that this
    machine cannot reach by the addresses of the cluster."""

    def __init__(
        self,
        find: Find,
        addresses: Mapping[str, str] | None = None,
        policy: AddressPolicy | None = None,
    ) -> None:
        self._find = find
        self._addresses = addresses or {}
        self._policy = policy or AddressPolicy()
        self._caller = Caller(proxy_for=proxy_of_environment)
        self._contexts: Bounded[bytes, ssl.SSLContext] = Bounded(256, per_byte=100)

    async def post(self, client_config: Object, body: bytes, timeout: float) -> bytes:
        """The content of a successful answer; raises CallError, which names the URL."""
        goal = self._goal(client_config)
        shown = f"{goal.url}?timeout={timeout:g}s"
        try:
            reply = await self._call(
                goal, shown, client_config.get("caBundle") or "", body, timeout
            )
        except CallError as error:
            raise error.of(f'Post "{shown}"') from None
        if not 200 <= reply.status < 300:
            said = reply.content[:200].decode(errors="replace").strip()
            raise CallError(f"the server answered {reply.status}", reply.status, said=said)
        return reply.content

    async def _call(self, goal: _Goal, url: str, bundle: str, body: bytes, timeout: float) -> Reply:
        headers = dict(_HEADERS)
        if goal.address:
            headers["host"] = url.removeprefix("https://").partition("/")[0]
            url = url.replace(headers["host"], await self._judged(goal), 1)
        return await self._caller.call(
            "POST",
            url,
            timeout=timeout,
            headers=headers,
            body=body,
            tls=self._tls(bundle),
            server_name=goal.server_name,
        )

    async def _judged(self, goal: _Goal) -> str:
        """An address that may be reached: what users write into endpoints is not to lead into this
        machine."""
        if goal.trusted:
            return goal.address
        host, _, port = goal.address.rpartition(":")
        try:
            [found, *_] = await self._policy.resolve(host.strip("[]"), int(port))
        except NotAllowed:
            raise CallError(f"dial tcp {goal.address}: the address is not allowed") from None
        except OSError as error:
            raise CallError(f"dial tcp: {error}", unreached=True) from None
        return _joined(found, int(port))

    def _tls(self, bundle: str) -> ssl.SSLContext:
        key = blake2b(bundle.encode(), digest_size=16).digest()
        found = self._contexts.get(key)
        if found is None:
            found = ssl.create_default_context()
            if bundle:
                found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                try:
                    found.load_verify_locations(cadata=base64.b64decode(bundle).decode())
                except (ValueError, ssl.SSLError):
                    raise CallError("the caBundle holds no certificate") from None
            self._contexts.keep(key, found, 16)
        return found

    def _goal(self, client_config: Object) -> _Goal:
        url = client_config.get("url")
        if url:
            return _Goal(url)
        service = client_config.get("service") or {}
        namespace, name = service.get("namespace", ""), service.get("name", "")
        port = service.get("port") or 443
        server_name = f"{name}.{namespace}.svc"
        path = (service.get("path") or "").lstrip("/")
        url = f"https://{server_name}:{port}/{path}"
        for known in (f"{namespace}/{name}:{port}", f"{namespace}/{name}"):
            if known in self._addresses:
                return _Goal(url, self._addresses[known], server_name)
        address = self._address(namespace, name, port)
        if not address:
            raise CallError(f'Post "{url}": service "{name}" not found')
        return _Goal(url, address, server_name, trusted=False)

    def _address(self, namespace: str, name: str, port: int) -> str:
        """One of the endpoints of a service, or its own address if it has none."""
        service = self._find("core/v1/services", namespace, name)
        if service is None:
            return ""
        spec = service["spec"]
        if spec.get("type") == "ExternalName":
            return _joined(spec["externalName"], port)
        named = next((one for one in spec.get("ports") or () if one["port"] == port), None)
        if named is None:
            raise CallError(f'no service port {port} found for service "{name}"')
        endpoints = self._find("core/v1/endpoints", namespace, name) or {}
        candidates = [
            _joined(address["ip"], one["port"])
            for subset in endpoints.get("subsets") or ()
            for one in subset.get("ports") or ()
            if one.get("name", "") == named.get("name", "")
            for address in subset.get("addresses") or ()
        ]
        if candidates:
            return random.choice(candidates)
        own = spec.get("clusterIP") or ""
        if own in ("", "None"):
            raise CallError(f'no endpoints available for service "{name}"', retryable=True)
        return _joined(own, port)

    async def close(self) -> None:
        await self._caller.close()


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
