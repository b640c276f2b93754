"""Calls webhooks that objects name, by URL or as a service of the cluster."""

from __future__ import annotations

import asyncio
import base64
import posixpath
import random
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from hashlib import blake2b
from math import ceil, inf
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit

import orjson

from fairlead.base.caches import BoundedCache
from fairlead.base.meter import SizeLimitExceeded
from fairlead.base.tracing import CLIENT, step
from fairlead.codec.bodies import (
    MAX_VALUES,
    BodyError,
    check_values,
    not_an_object,
    parse_json,
    parse_yaml,
)
from fairlead.wire.outgoing.addresses import AddressPolicy, NotAllowed
from fairlead.wire.outgoing.certificates import BundleError
from fairlead.wire.outgoing.client_config import (
    ClientConfig,
    ClientConfigError,
    HostCredentials,
    proxy_of_environment,
)
from fairlead.wire.outgoing.handshake import trusting
from fairlead.wire.outgoing.pool import Pool
from fairlead.wire.outgoing.request import Route
from fairlead.wire.outgoing.response import (
    CallError,
    Response,
    check_success,
    seconds_to_wait,
)

Object = dict[str, Any]
# Reads an object by resource, namespace and name.
Find = Callable[[str, str, str], Object | None]
# The address that stands for a simulated endpoint of a service in a namespace, by its entry in
# Endpoints and its port; None if the endpoint is real. Raises CallError.
SimulatedAddress = Callable[[str, Object, int], Awaitable[tuple[str, int] | None]]

_HEADERS = {
    "user-agent": "fairlead",
    "content-type": "application/json",
    "accept": "application/json, */*",
}
_DEFAULT_PORT = 443
MAX_CALLS = 64  # concurrent calls of one webhook; further calls wait
_SECONDS_RESERVED = 1.0  # reserved for the rest of the request when its webhook call gets no slot
_MAX_RETRIES = 10
_HOST = re.compile(r"[-.:_~\[\]a-zA-Z0-9]+")
_SAFE_IN_PATHS = "/$&+,:;=@"


class UnusableBundle(CallError):
    """The webhook is not called: its caBundle has no certificate."""


class AddressMapError(ValueError):
    """The text of `--service-address-map` is invalid."""


def parse_address_map(text: str) -> dict[str, str]:
    """Parse `namespace/name[:port]=host:port,…`; raises AddressMapError."""
    addresses = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        service, equals, address = part.partition("=")
        host, colon, port = address.rpartition(":")
        if not equals or not colon or not host or not port.isdigit() or "/" not in service:
            raise AddressMapError(f"{part!r} is not namespace/name[:port]=host:port")
        addresses[service] = address
    return addresses


class _Target(NamedTuple):
    """The target of a client configuration: the URL in messages, without its query; the path to
    send; and for a service its namespace, name and port."""

    url: str
    host: str
    port: int
    path: str
    service: tuple[str, str, int] | None = None


def _parse_target(client_config: Object) -> _Target:
    service = client_config.get("service")
    if not client_config.get("url") and service:
        name, namespace = service.get("name", ""), service.get("namespace", "")
        port = service.get("port") or _DEFAULT_PORT
        host, path = f"{name}.{namespace}.svc", _cleaned(service.get("path") or "")
        return _Target(f"https://{host}:{port}{path}", host, port, path, (namespace, name, port))
    url = client_config.get("url") or ""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _DEFAULT_PORT
    except ValueError:  # such as an invalid port
        return _Target(url, "", _DEFAULT_PORT, "/")
    path = _cleaned(parts.path)
    return _Target(f"{parts.scheme}://{parts.netloc}{path}", host, port, path)


def _cleaned(path: str) -> str:
    """Normalize a path as the reference does: without empty segments, `.`, `..` and a trailing
    slash."""
    steps = unquote_to_bytes(path).lstrip(b"/")
    return quote(posixpath.normpath(b"/" + steps), safe=_SAFE_IN_PATHS)


class Webhook:
    """One webhook of a client configuration. Create it once and call it often. It is read with the
    first call: a configuration may have thousands."""

    def __init__(
        self, webhooks: Webhooks, client_config: Object, users: HostCredentials | None
    ) -> None:
        self._webhooks = webhooks
        self._client_config = client_config
        self._users = users
        self._bundle: str = client_config.get("caBundle") or ""
        self._tls: ssl.SSLContext | None = None
        self._heads: dict[float, bytes] = {}
        self._route: Route | None = None
        self._slots = asyncio.Semaphore(MAX_CALLS)

    @cached_property
    def _target(self) -> _Target:
        return _parse_target(self._client_config)

    @cached_property
    def _credentials(self) -> ClientConfig | None:
        target = self._target
        return self._users.of(target.host, target.port) if self._users is not None else None

    @cached_property
    def _proxy(self) -> str:
        target = self._target
        is_direct = target.service is not None or not target.host
        return "" if is_direct else proxy_of_environment(target.url)

    async def post(self, body: bytes, timeout: float, deadline: float = inf) -> bytes:
        """Return the content of a successful answer; raises CallError, which names the URL if there
        was no answer.

        The call has `timeout` seconds once it gets one of the MAX_CALLS slots. `deadline`, by the
        event loop's clock, is the end of the request that triggers the call.
        """
        await self._take_slot(timeout, deadline)
        try:
            remaining = deadline - asyncio.get_running_loop().time()
            if remaining < timeout:
                timeout = max(float(ceil(remaining)), 1.0)  # URLs and messages have full seconds
            response = await self._call_in_time(body, timeout)
        finally:
            self._slots.release()
        check_success(response)
        if not response.content:
            status, kind = response.status, response.header(b"content-type")
            kind = kind or _HEADERS["content-type"]
            message = f"0-length response with status code: {status} and content type: {kind}"
            raise CallError(message, status)
        return response.content

    async def _take_slot(self, timeout: float, deadline: float) -> None:
        """Wait for a slot (MAX_CALLS per webhook), as long as the request may wait."""
        slot_deadline = deadline - _SECONDS_RESERVED
        try:
            async with asyncio.timeout_at(slot_deadline if slot_deadline < inf else None):
                await self._slots.acquire()
        except TimeoutError:
            call = self._describe_call(timeout)
            raise CallError(f"{call}: context deadline exceeded", retryable=True) from None

    async def _call_in_time(self, body: bytes, timeout: float) -> Response:
        """Return the response, after retries if the webhook sends Retry-After."""
        try:
            async with asyncio.timeout(timeout):
                response = await self._call(body, timeout)
                for _ in range(_MAX_RETRIES):
                    seconds = seconds_to_wait(response)
                    if seconds is None:
                        break
                    await asyncio.sleep(seconds)
                    response = await self._call(body, timeout)
                return response
        except TimeoutError:
            call = self._describe_call(timeout)
            raise CallError(f"{call}: context deadline exceeded", retryable=True) from None
        except ClientConfigError as error:
            raise CallError(f"{self._describe_call(timeout)}: {error}") from None
        except UnusableBundle:
            raise
        except CallError as error:
            raise error.of(self._describe_call(timeout)) from None

    def _describe_call(self, timeout: float) -> str:
        return f'Post "{self._url(timeout)}"'

    def _url(self, timeout: float) -> str:
        return f"{self._target.url}?timeout={timeout:g}s"

    async def _call(self, body: bytes, timeout: float) -> Response:
        target, webhooks = self._target, self._webhooks
        tls = self._tls
        if tls is None:
            if not _HOST.fullmatch(target.host):
                raise CallError(f'"{target.host}" is not a host')
            tls = self._tls = webhooks.tls(self._bundle, self._credentials)
        route = self._route
        if route is None:
            route = Route(target.host, target.port, target.host, tls, self._proxy)
            if target.service is None:
                self._route = route
            else:
                host, port = await webhooks.address(*target.service)
                route = route._replace(host=host, port=port)
        with step("HTTP POST", CLIENT) as span:
            trace = b""
            if span is not None:
                span.note({"http.request.method": "POST", "url.full": self._url(timeout)})
                trace = b"\r\ntraceparent: %b" % span.header.encode()
            head = self._head(timeout)
            request = b"%b%d%b\r\n\r\n%b" % (head, len(body), trace, body)
            response = await webhooks.pool.call(route, b"POST", request)
            if span is not None:
                span.note({"http.response.status_code": response.status})
            return response

    def _head(self, timeout: float) -> bytes:
        """Encode a request up to the value of its Content-Length."""
        may_change = self._credentials is not None and self._credentials.token_file is not None
        head = self._heads.get(timeout)
        if head is None or may_change:
            target = self._target
            lines = [f"POST {target.path}?timeout={timeout:g}s HTTP/1.1"]
            host = f"[{target.host}]" if ":" in target.host else target.host
            host_header = host if target.port == _DEFAULT_PORT else f"{host}:{target.port}"
            headers = {"host": host_header, **_HEADERS, **self._authorization()}
            lines += [f"{name}: {value}" for name, value in headers.items()]
            head = "\r\n".join([*lines, "content-length: "]).encode("latin-1", "replace")
            self._heads[timeout] = head
        return head

    def _authorization(self) -> dict[str, str]:
        value = self._credentials.authorization() if self._credentials is not None else ""
        if not value.isprintable():
            raise CallError("the credentials have characters that cannot be sent")
        return {"authorization": value} if value else {}


class Webhooks:
    """Creates webhooks, with a shared connection pool. `find` reads services and endpoints.
    `addresses` maps services that this machine cannot reach by their cluster addresses."""

    def __init__(
        self,
        find: Find,
        addresses: Mapping[str, str] | None = None,
        policy: AddressPolicy | None = None,
        simulated_address: SimulatedAddress | None = None,
    ) -> None:
        self._find = find
        self._simulated_address = simulated_address
        self._addresses = addresses or {}
        self._policy = policy or AddressPolicy()
        self.pool = Pool()
        self._contexts: BoundedCache[tuple[bytes, ClientConfig | None], ssl.SSLContext] = (
            BoundedCache(256, per_byte=100)
        )

    def webhook(self, client_config: Object, users: HostCredentials | None = None) -> Webhook:
        """Create the webhook of a client configuration, with the credentials that `users` has for
        its host."""
        return Webhook(self, client_config, users)

    def tls(self, bundle: str, credentials: ClientConfig | None) -> ssl.SSLContext:
        """Return a TLS context for a webhook with a CA bundle, from a cache; raises CallError."""
        key = blake2b(bundle.encode(), digest_size=16).digest(), credentials
        context = self._contexts.get(key)
        if context is None:
            context = _build_tls(bundle, credentials)
            self._contexts.keep(key, context, 16)
        return context

    async def address(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        """Resolve a service; raises CallError. Endpoints that users write must not lead to this
        machine."""
        mapped = self.mapped(namespace, name, port)
        if mapped is not None:
            return mapped
        endpoint, endpoint_port = self._endpoint(namespace, name, port)
        host = endpoint["ip"]
        if self._simulated_address is not None:
            simulated = await self._simulated_address(namespace, endpoint, endpoint_port)
            if simulated is not None:
                return simulated
        try:
            [address, *_] = await self._policy.resolve(host, endpoint_port)
        except NotAllowed:
            raise CallError(
                f"dial tcp {_host_and_port(host, endpoint_port)}: the address is not allowed"
            ) from None
        except OSError as error:
            raise CallError(f"dial tcp: {error}", unreached=True) from None
        return address, endpoint_port

    def mapped(self, namespace: str, name: str, port: int) -> tuple[str, int] | None:
        """Return the address of a service in `--service-address-map`, None if it is not mapped."""
        for service in (f"{namespace}/{name}:{port}", f"{namespace}/{name}"):
            if service in self._addresses:
                host, _, mapped_port = self._addresses[service].rpartition(":")
                return host.strip("[]"), int(mapped_port)
        return None

    def _endpoint(self, namespace: str, name: str, port: int) -> tuple[Object, int]:
        """Return a random endpoint of a service with its port, or its cluster IP if it has no
        endpoints."""
        service = self._find("core/v1/services", namespace, name)
        if service is None:
            raise CallError(f'service "{name}" not found')
        spec = service["spec"]
        if spec.get("type") == "ExternalName":
            return {"ip": spec["externalName"]}, port
        service_port = next(
            (port_spec for port_spec in spec.get("ports") or () if port_spec["port"] == port), None
        )
        if service_port is None:
            raise CallError(f'no service port {port} found for service "{name}"')
        endpoints = self._find("core/v1/endpoints", namespace, name) or {}
        candidates = [
            (address, port_spec["port"])
            for subset in endpoints.get("subsets") or ()
            for port_spec in subset.get("ports") or ()
            if port_spec.get("name", "") == service_port.get("name", "")
            for address in subset.get("addresses") or ()
        ]
        if candidates:
            return random.choice(candidates)
        cluster_ip = spec.get("clusterIP") or ""
        if cluster_ip in ("", "None"):
            raise CallError(f'no endpoints available for service "{name}"', retryable=True)
        return {"ip": cluster_ip}, port

    async def close(self) -> None:
        self.pool.close()


def trusting_bundle(bundle: str) -> ssl.SSLContext:
    """Create a context that trusts the base64 caBundle of an object; raises UnusableBundle."""
    try:
        return trusting(base64.b64decode(bundle))
    except BundleError as error:
        raise UnusableBundle(f"unable to load root certificates: {error}") from None


def _build_tls(bundle: str, credentials: ClientConfig | None) -> ssl.SSLContext:
    context = trusting_bundle(bundle)
    if credentials is not None:
        try:
            credentials.load_certificate(context)
        except (ValueError, ssl.SSLError) as error:
            raise CallError(f"the client certificate cannot be used: {error}") from None
    return context


def _host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


# Reviews

_VERSIONS = ("v1", "v1beta1")


def read_review(
    content: bytes, group: str, kind: str, version: str, max_values: int = MAX_VALUES
) -> dict[str, Any]:
    """Parse a webhook's answer as a review; one without kind and apiVersion is accepted. Raises
    CallError, also for an answer with more than `max_values` lists and objects."""
    try:
        check_values(content, max_values)
        value = orjson.loads(content)
    except SizeLimitExceeded as error:
        raise CallError(f"the answer has {error}") from None
    except orjson.JSONDecodeError:
        value = _parse_slowly(content)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _unknown_kind(not_an_object(value))
    if value.get("kind") == kind:
        for other_version in _VERSIONS:
            if other_version != version and value.get("apiVersion") == f"{group}/{other_version}":
                raise CallError(
                    f"converting ({other_version}.{kind}) to ({version}.{kind}): unknown conversion"
                )
    return value


def _parse_slowly(content: bytes) -> Any:
    """Parse an answer that orjson rejects: as JSON for an error message, else as YAML."""
    if content.lstrip().startswith(b"{"):
        try:
            return parse_json(content)
        except BodyError as error:
            raise _unknown_kind(str(error)) from None
    try:
        return parse_yaml(content)[0]
    except BodyError as error:
        raise CallError(str(error)) from None


def _unknown_kind(reason: str) -> CallError:
    return CallError(f"couldn't get version/kind; json parse error: {reason}")
