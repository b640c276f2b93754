"""Serves the console on a local port, and passes its requests on to the servers of the contexts.

Others on this machine, and pages of other sites in the same browser, can reach the port. They get
the files of the console, which are no secret, and nothing else:

- A request needs a token in `Authorization`, which browsers add for nobody. There are no cookies.
- `Host` is an address of ours: a name that was rebound to this machine is refused.
- `Origin` and `Sec-Fetch-Site`, where there are any, are those of our own page.
- What servers answer is never a page here: see `ContextRelay`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from fairlead.cli.local_console.contexts import Context, Contexts
from fairlead.cli.local_console.doors import Doors
from fairlead.cli.proxy.filters import plain_path
from fairlead.cli.proxy.messages import BadMessage, Head, answer, body_of
from fairlead.cli.proxy.relay import LocalServer
from fairlead.client import AccessError
from fairlead.codec.types.times import format_time
from fairlead.console import PATH
from fairlead.console.files import SECURITY_HEADERS, Files
from fairlead.wire.byte_streams import ByteStream

HOST = "127.0.0.1"
_SESSION, _CONTEXT, _ABOUT = f"{PATH}/session", f"{PATH}/context", f"{PATH}/about"
_RELAYED = f"{PATH}/server"  # the only path of the console that servers answer themselves
_MAX_BODY = 4096
_LASTS = timedelta(hours=12)  # at least; the page renews its token, which ends with the process
_BEARER = "bearer "
# What the page's browser says about the page, and its token, are not for other servers.
_OURS = {"authorization", "cookie", "origin", "referer"}
_SECURED = tuple(f"{name.decode()}: {value.decode()}" for name, value in SECURITY_HEADERS)
_JSON = ("content-type: application/json", "cache-control: no-store", *_SECURED)
_SAFE_SITES = ("", "same-origin", "none")


class Refusal(Exception):
    """A request that is not the page's; the arguments are status and text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class LocalConsole(LocalServer):
    """`linked` is called with the link to sign in, at the start and whenever it was used."""

    def __init__(self, contexts: Contexts, files: Files, linked: Callable[[str], None]) -> None:
        self._contexts = contexts
        self._files = files
        self._linked = linked
        self._doors = Doors()
        self._host = ""

    def begin(self, port: int) -> None:
        """Serve at this port from now on."""
        self._host = f"{HOST}:{port}"
        self._linked(self._link())

    def _link(self) -> str:
        return f"http://{self._host}{PATH}/#code={self._doors.new_code()}"

    async def answer(self, stream: ByteStream, head: Head) -> bool:
        path = head.target.partition("?")[0]
        try:
            self._check_host(head)
            if path in ("/", PATH):
                await answer(stream, head, 308, b"", f"location: {PATH}/", *_SECURED)
            elif path.startswith(f"{PATH}/") and path not in (_ABOUT, _RELAYED):
                await self._answer_page(stream, head, path)
            else:
                return await self._answer_request(stream, head, path)
        except Refusal as refused:
            await _tell(stream, head, refused.status, _status(refused.status, str(refused)))
        except AccessError as error:
            await _tell(stream, head, 502, _status(502, str(error)))
        return head.keeps_alive and not head.has_body

    def _check_host(self, head: Head) -> None:
        hosts = [value for name, value in head.headers if name == "host"]
        if hosts != [self._host]:
            raise Refusal(421, f"this is the console at {self._host}")
        if head.header("service-worker"):
            raise Refusal(403, "there are no service workers here")

    def _check_page(self, head: Head) -> None:
        origins = {value for name, value in head.headers if name == "origin"}
        is_ours = origins <= {f"http://{self._host}"}
        if not is_ours or head.header("sec-fetch-site") not in _SAFE_SITES:
            raise Refusal(403, "pages of other sites are not served")

    async def _answer_page(self, stream: ByteStream, head: Head, path: str) -> None:
        """Files, and signing in and out."""
        if path == _SESSION:
            self._check_page(head)
            await self._session(stream, head)
        elif path == _CONTEXT:
            self._check_page(head)
            await self._change_context(stream, head)
        else:
            await self._file(stream, head, path)

    async def _file(self, stream: ByteStream, head: Head, path: str) -> None:
        found = self._files.get(path.removeprefix(f"{PATH}/"))
        if found is None or head.method not in ("GET", "HEAD"):
            raise Refusal(404, "there is no such file")
        file, (name, value) = found
        kind = f"content-type: {file.media_type}"
        caching = f"{name.decode()}: {value.decode()}"
        await answer(stream, head, 200, file.plain, kind, caching, *_SECURED)

    async def _session(self, stream: ByteStream, head: Head) -> None:
        if head.method == "DELETE":
            self._doors.end(_token(head))
            return await _tell(stream, head, 200, _status(200, ""))
        sent = await _sent(stream, head)
        code = sent.get("code")
        if isinstance(code, str) and code:
            if not self._doors.use(code):
                raise Refusal(
                    401, "this link was used before: fairlead console printed another one"
                )
            self._linked(self._link())
            await self._open(stream, head, self._contexts.first)
        else:
            context = self._context(head)
            await _tell(stream, head, 200, await self._entry(_token(head), context))

    async def _change_context(self, stream: ByteStream, head: Head) -> None:
        """Give the page a token for another context."""
        self._context(head)
        name = (await _sent(stream, head)).get("name")
        if name not in self._contexts.names:
            raise Refusal(404, "there is no such context")
        await self._open(stream, head, str(name))

    async def _open(self, stream: ByteStream, head: Head, name: str) -> None:
        if problem := self._contexts.problem(name):
            raise Refusal(422, problem)
        token = self._doors.new_token(name)
        await _tell(stream, head, 201, await self._entry(token, name))

    async def _entry(self, token: str, name: str) -> dict[str, Any]:
        context = self._contexts.open(name)
        await context.look()
        ends = format_time(datetime.now(UTC) + _LASTS)
        user = {"username": context.user}
        return {"token": token, "expires": ends, "ends": ends, "user": user, "context": name}

    def _context(self, head: Head) -> str:
        """The context of the token; raises Refusal."""
        name = self._doors.context_of(_token(head))
        if name is None:
            raise Refusal(401, "sign in with a link that fairlead console has printed")
        return name

    async def _answer_request(self, stream: ByteStream, head: Head, path: str) -> bool:
        """What the page asks about a server, or asks the server."""
        self._check_page(head)
        context = self._contexts.open(self._context(head))
        if path == _ABOUT:
            await context.look()
            await _tell(stream, head, 200, self._facts(context))
            return head.keeps_alive and not head.has_body
        plain = plain_path(path)
        if head.upgrades or (plain.startswith(PATH) and path != _RELAYED):
            raise Refusal(403, "this is not for the page")
        if context.is_foreign and (path == _RELAYED or plain.startswith("/history")):
            raise Refusal(404, "this server keeps no history, and no samples of its metrics")
        headers = tuple(
            (name, value)
            for name, value in head.headers
            if name not in _OURS and not name.startswith("sec-")
        )
        return await context.relay.pass_on(stream, head._replace(headers=headers), path)

    def _facts(self, context: Context) -> dict[str, Any]:
        return {
            **context.facts,
            "foreign": context.is_foreign,
            "contexts": self._contexts.names,
            "context": context.name,
            "server": context.server,
        }


def _token(head: Head) -> str:
    sent = head.header("authorization")
    return sent[len(_BEARER) :].strip() if sent.lower().startswith(_BEARER) else ""


async def _sent(stream: ByteStream, head: Head) -> dict[str, Any]:
    """The JSON object in the body; raises Refusal and BadMessage."""
    if head.method != "POST":
        raise Refusal(405, "this takes POST")
    if head.header("content-type").partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "this takes application/json")
    if head.is_chunked or head.length > _MAX_BODY:
        raise Refusal(413, "the body is too long")
    try:
        content = b"".join([piece async for piece in body_of(stream, head)])
        value = json.loads(content or b"{}")
    except asyncio.IncompleteReadError:
        raise BadMessage("the body is cut off") from None
    except (ValueError, RecursionError):
        raise Refusal(400, "the body is not JSON") from None
    if not isinstance(value, dict):
        raise Refusal(400, "the body is not an object")
    return value


async def _tell(stream: ByteStream, head: Head, status: int, value: dict[str, Any]) -> None:
    await answer(stream, head, status, json.dumps(value).encode(), *_JSON)


def _status(code: int, message: str) -> dict[str, Any]:
    result = "Success" if code < 400 else "Failure"
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": result}
    return {**status, "message": message, "code": code}
