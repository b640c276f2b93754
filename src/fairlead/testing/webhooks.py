"""Python functions as admission webhooks, with server, certificate and configuration."""

from __future__ import annotations

import asyncio
import inspect
import json
import ssl
import tempfile
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fairlead.process.certificates import issue
from fairlead.testing.powers import Lent

Object = dict[str, Any]
# Called with the object, and with the review's request if it takes two arguments.
Function = Callable[..., Any]

_LIFE = timedelta(days=365)
_HOST = "127.0.0.1"


class Denied(Exception):
    """Raised by a function to refuse a request; the text is the message."""


class Webhook:
    """Answers reviews by a function, which may be async. It refuses by returning False or a text,
    or by raising Denied. A mutating function changes the object or returns another one. Any other
    exception is answered with 500 and kept in `failures`. The caller must close the webhook."""

    def __init__(
        self, function: Function, *, mutating: bool, authority: tuple[bytes, bytes]
    ) -> None:
        self._function = function
        self._mutating = mutating
        self._wants_request = _takes_two(function)
        self.calls: list[Object] = []  # the request of every review
        self.failures: list[Exception] = []
        self._server = _serve(self._answer, authority)
        self.url = f"https://{_HOST}:{self._server.server_address[1]}/"

    def _answer(self, review: Object) -> Object:
        request: Object = review["request"]
        self.calls.append(request)
        value = request.get("object") or request.get("oldObject") or {}
        response: Object = {"uid": request["uid"], "allowed": True}
        try:
            self._decide(value, request, response)
        except Denied as refusal:
            response |= {"allowed": False, "status": {"code": 403, "message": str(refusal)}}
        return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}

    def _decide(self, value: Object, request: Object, response: Object) -> None:
        changed = deepcopy(value)
        result = self._call(changed, request)
        if result is False or isinstance(result, str):
            raise Denied(result or "refused by a function of the test")
        if self._mutating and request.get("object"):
            patch = changes(value, changed if result in (None, True) else result)
            if patch:
                content = b64encode(json.dumps(patch).encode()).decode()
                response |= {"patchType": "JSONPatch", "patch": content}

    def _call(self, value: Object, request: Object) -> Any:
        words = (value, request) if self._wants_request else (value,)
        try:
            result = self._function(*words)
            if inspect.iscoroutine(result):
                result = asyncio.run(result)
            if self._mutating and not isinstance(result, dict | bool | str | None):
                raise TypeError(f"an object is wanted, not {result!r:.100}")
            return result
        except Denied:
            raise
        except Exception as error:
            self.failures.append(error)
            raise

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _takes_two(function: Function) -> bool:
    """Return whether a function requires two arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some functions that are not written in Python
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wanted = [
        parameter
        for parameter in parameters
        if parameter.kind in positional and parameter.default is parameter.empty
    ]
    return len(wanted) > 1


def _serve(
    answer: Callable[[Object], Object], authority: tuple[bytes, bytes]
) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else the body waits for the delayed ACK of the header

        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                code, content = 200, json.dumps(answer(review)).encode()
            except Exception as error:
                code, content = 500, f"{type(error).__name__}: {error}".encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json" if code == 200 else "text/plain")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *words: Any) -> None:
            """Log nothing: `calls` and the recorded requests have more detail."""

    server = ThreadingHTTPServer((_HOST, 0), Handler)
    # The thread of the connection does the handshake, so that one that hangs blocks no others.
    server.socket = _context(authority).wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    poll_interval = 0.05  # seconds; `shutdown` waits for at most one
    threading.Thread(target=server.serve_forever, args=(poll_interval,), daemon=True).start()
    return server


def _context(authority: tuple[bytes, bytes]) -> ssl.SSLContext:
    issued = issue.issue_serving(issue.Issued(*authority), [_HOST], datetime.now(UTC), _LIFE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(issued.certificate + issued.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


def configuration(
    webhook: Webhook,
    name: str,
    group: str,
    ca: bytes,
    *,
    mutating: bool,
    resources: Sequence[str],
    operations: Sequence[str],
    groups: Sequence[str],
    versions: Sequence[str],
    **fields: Any,
) -> Object:
    """Return the configuration object of a webhook; `fields` are added to its entry."""
    rule = {
        "apiGroups": list(groups),
        "apiVersions": list(versions),
        "operations": list(operations),
        "resources": list(resources),
    }
    entry = {
        "name": f"{name}.testing.example.org",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": webhook.url, "caBundle": b64encode(ca).decode()},
        "rules": [rule],
        **fields,
    }
    kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [entry],
    }


class Admission(Lent):
    """A webhook that is active until its `end`, or the end of its context."""

    def __init__(self, lent: list[Lent], webhook: Webhook, remove: Callable[[], None]) -> None:
        super().__init__(lent)
        self._webhook = webhook
        self._remove = remove

    @property
    def calls(self) -> list[Object]:
        """The requests of all reviews so far."""
        return self._webhook.calls

    @property
    def failures(self) -> list[Exception]:
        """The exceptions of the function other than Denied."""
        return self._webhook.failures

    def _end(self) -> None:
        try:
            self._remove()
        finally:
            self._webhook.close()


# Computes the JSON patch between two values.

Step = dict[str, Any]


def changes(old: Any, new: Any) -> list[Step]:
    """Return the patch from `old` to `new`. A list that differs is replaced as a whole."""
    return list(_steps(old, new, ""))


def _steps(old: Any, new: Any, path: str) -> Iterator[Step]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old.keys() - new.keys():
            yield {"op": "remove", "path": _below(path, name)}
        for name, value in new.items():
            if name in old:
                yield from _steps(old[name], value, _below(path, name))
            else:
                yield {"op": "add", "path": _below(path, name), "value": value}
    elif old != new:
        yield {"op": "replace", "path": path, "value": new}


def _below(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
