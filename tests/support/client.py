"""A small HTTP client over TLS that returns raw answers, and reads watch streams."""

from __future__ import annotations

import gzip
import http.client
import json
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import yaml

Object = dict[str, Any]

JSON, YAML = "application/json", "application/yaml"
MERGE_PATCH = "application/merge-patch+json"
ADMIN_TOKEN = "admin-token"
AGENT = "tests/1.0"
PATIENCE = 20.0  # seconds until a test gives up on an answer that should come at once


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer; `raw` is the body as sent, possibly compressed."""

    status: int
    headers: Message
    raw: bytes

    @property
    def content(self) -> bytes:
        if self.headers.get("Content-Encoding") == "gzip":
            return gzip.decompress(self.raw)
        return self.raw

    @property
    def text(self) -> str:
        return self.content.decode()

    @property
    def body(self) -> Any:
        if (self.headers.get("Content-Type") or "").startswith(YAML):
            return yaml.safe_load(self.content)
        return json.loads(self.content)

    @property
    def message(self) -> str:
        return str(self.body["message"])

    @property
    def causes(self) -> list[tuple[str, str, str]]:
        """(field, reason, message) of every cause of a Status."""
        listed = self.body.get("details", {}).get("causes", [])
        return [(c.get("field", ""), c.get("reason", ""), c["message"]) for c in listed]

    @property
    def warnings(self) -> list[str]:
        return [str(value) for value in self.headers.get_all("Warning") or []]

    @property
    def version(self) -> str:
        """The resourceVersion of the object or list."""
        return str(self.body["metadata"]["resourceVersion"])

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.body["items"]]


@dataclass(frozen=True, slots=True)
class Event:
    type: str
    object: Object

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])

    @property
    def version(self) -> str:
        return str(self.object["metadata"]["resourceVersion"])

    @property
    def brief(self) -> tuple[str, str]:
        return self.type, self.name


class WatchEnded(Exception):
    """The stream ended where an event was expected."""


class Watch:
    """An open watch. Iterating reads to its end; `next` waits for one event."""

    def __init__(self, connection: http.client.HTTPSConnection) -> None:
        self._connection = connection
        self._response = connection.getresponse()
        self.status = self._response.status
        self.headers: Message = self._response.headers

    def next(self) -> Event:
        line = self._response.readline()
        if not line:
            raise WatchEnded
        parsed = json.loads(line)
        return Event(parsed["type"], parsed["object"])

    def take(self, count: int) -> list[Event]:
        return [self.next() for _ in range(count)]

    def until(self, name: str) -> list[Event]:
        """Return every event up to and including the first one about an object of this name."""
        results = [self.next()]
        while results[-1].name != name:
            results.append(self.next())
        return results

    def __iter__(self) -> Iterator[Event]:
        """Yield events until the server ends the stream properly."""
        while True:
            try:
                yield self.next()
            except WatchEnded:
                return

    def rest(self) -> list[Event]:
        return list(self)

    def answer(self) -> Answer:
        """Return the whole answer if it is not a stream."""
        return Answer(self.status, self.headers, self._response.read())

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


Query = Any  # text, a number, a list of texts, or None for a bare name


def with_query(path: str, query: Mapping[str, Query]) -> str:
    """Add parameters to a path. `continue_` is `continue`; None gives a bare name without `=`."""
    parts = []
    for name, value in query.items():
        name = name.rstrip("_")
        if value is None:
            parts.append(quote(name))
        else:
            values = value if isinstance(value, list) else [value]
            parts.append(urlencode([(name, item) for item in values]))
    return f"{path}?{'&'.join(parts)}" if parts else path


_LONGEST_PAUSE = 60.0  # seconds; servers close connections that are idle for long


class Client:
    """One user's requests over one keep-alive connection. Not thread-safe: `clone` gives another
    one."""

    def __init__(
        self,
        address: str,
        ca: Path,
        token: str | None = ADMIN_TOKEN,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        self.address = address
        self.token = token
        self.patience = PATIENCE
        self._ca = ca
        self._certificate = certificate
        self._tls = ssl.create_default_context(cafile=str(ca))
        if certificate is not None:
            self._tls.load_cert_chain(*certificate)
        self._connection: http.client.HTTPSConnection | None = None
        self._used = 0.0

    def clone(self, token: str | None = None) -> Client:
        cloned = Client(self.address, self._ca, token or self.token, self._certificate)
        cloned.patience = self.patience
        return cloned

    def connect(self) -> http.client.HTTPSConnection:
        """Open a new connection, for tests that speak HTTP themselves."""
        parts = urlsplit(self.address)
        assert parts.hostname is not None
        return http.client.HTTPSConnection(
            parts.hostname, parts.port, context=self._tls, timeout=self.patience
        )

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def head_of(self, headers: Mapping[str, str] | None = None) -> dict[str, str]:
        value = {"User-Agent": AGENT}
        if self.token is not None:
            value["Authorization"] = f"Bearer {self.token}"
        return {**value, **(headers or {})}

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        **query: Query,
    ) -> Answer:
        """Send a request; a body that is not bytes or text is sent as JSON."""
        sent = self.head_of(headers)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            sent.setdefault("Content-Type", JSON)
        now, since = time.monotonic(), self._used
        self._used = now
        if now - since > _LONGEST_PAUSE:
            self.close()
        connection = self._connection  # another thread may close it meanwhile
        if connection is None:
            connection = self._connection = self.connect()
        try:
            connection.request(
                method, with_query(path, query), body.encode() if isinstance(body, str) else body,
                sent,
            )  # fmt: skip
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def get(self, path: str, *, headers: Mapping[str, str] | None = None, **query: Query) -> Answer:
        return self.request("GET", path, headers=headers, **query)

    def post(
        self, path: str, body: Any, *, headers: Mapping[str, str] | None = None, **query: Query
    ) -> Answer:
        return self.request("POST", path, body, headers=headers, **query)

    def put(
        self, path: str, body: Any, *, headers: Mapping[str, str] | None = None, **query: Query
    ) -> Answer:
        return self.request("PUT", path, body, headers=headers, **query)

    def patch(self, path: str, body: Any, *, kind: str = MERGE_PATCH, **query: Query) -> Answer:
        return self.request("PATCH", path, body, headers={"Content-Type": kind}, **query)

    def delete(
        self,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        **query: Query,
    ) -> Answer:
        return self.request("DELETE", path, body, headers=headers, **query)

    def watch(
        self, path: str, *, headers: Mapping[str, str] | None = None, **query: Query
    ) -> Watch:
        """Open a watch over a connection of its own; `watch=1` unless the path says it."""
        if "/watch/" not in path:
            query.setdefault("watch", 1)
        connection = self.connect()
        connection.request("GET", with_query(path, query), headers=self.head_of(headers))
        return Watch(connection)
