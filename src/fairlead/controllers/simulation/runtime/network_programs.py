"""Programs that talk to other hosts: `curl`, `wget`, `nc`, `nslookup`, `dig`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

from fairlead.base.digits import whole_number
from fairlead.controllers.simulation.runtime.files import FileError
from fairlead.controllers.simulation.runtime.options import Given, Options
from fairlead.controllers.simulation.runtime.process import (
    STDOUT,
    Process,
    Program,
    Wait,
    Write,
    error,
    output,
    read_all,
)
from fairlead.controllers.simulation.runtime.surroundings import (
    LATE,
    NO_NAME,
    TCP,
    UDP,
    Answer,
    NetworkError,
    Request,
)

_MAX_REDIRECTS = 10
_MAX_SENT = 64 * 1024
_CURL = Options(
    "X,request: o,output: H,header: w,write-out: d,data,data-raw,data-binary:"
    " m,max-time,connect-timeout: s,silent S,show-error f,fail i,include I,head L,location"
    " interface: A,user-agent: cacert: u,user: retry: retry-delay: F,form: resolve: b,cookie:"
    " e,referer: T,upload-file:"
)
_WGET = Options("O,output-document: T,timeout: t,tries: header: post-data: spider")
_NETCAT = Options("w: p: s: i: q:")
_NSLOOKUP = Options()
_CURL_CODES = {NO_NAME: 6, LATE: 28}  # all other failures: 7


class _Call(NamedTuple):
    """What curl or wget is to fetch. `method` and `data` are empty if none are given."""

    address: str
    method: str
    data: str
    headers: list[str]
    follows: bool


def _fetch(process: Process, call: _Call) -> Answer:
    """Raises NetworkError."""
    address = call.address if "://" in call.address else f"http://{call.address}"
    for _ in range(_MAX_REDIRECTS):
        parts, port = _parts(address)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"host": parts.netloc, "user-agent": "simulated", "accept": "*/*"}
        for line in call.headers:
            name, _, text = line.partition(":")
            headers[name.strip().lower()] = text.strip()
        data = call.data.encode()
        request = Request(call.method, target, headers, is_tls=parts.scheme == "https", body=data)
        answer = process.surroundings.network.get(parts.hostname or "", port, request)
        place = answer.headers.get("location")
        if place is None or not call.follows or not 300 <= answer.status < 400:
            return answer
        try:
            address = urljoin(address, place)
        except ValueError:
            raise NetworkError("URL is malformed") from None
    raise NetworkError("too many redirects")


def _parts(address: str) -> tuple[SplitResult, int]:
    """The parts of a URL, and its port. Raises NetworkError."""
    try:
        parts = urlsplit(address)
    except ValueError:
        raise NetworkError("URL is malformed") from None
    try:
        return parts, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise NetworkError("port number is not valid") from None


def curl(process: Process) -> Program:
    given = _CURL.read(process.arguments[1:])
    if not given.operands:
        yield error("curl: (2) no URL specified\n")
        return 2
    address, limit = given.operands[-1], _limit(given)
    default = "HEAD" if given.has("I") else "POST" if given.has("d") else "GET"
    method = given.value("X") or default
    call = _Call(address, method, given.value("d"), given.values("H"), follows=given.has("L"))
    try:
        answer = _fetch(process, call)
        if answer.delay:
            yield Wait(min(answer.delay, limit))
        if answer.delay > limit:
            raise NetworkError(LATE)
    except NetworkError as failed:
        code = _CURL_CODES.get(str(failed), 7)
        yield from _written_out(given, 0)
        if not given.has("s") or given.has("S"):
            yield error(f"curl: ({code}) {address}: {failed}\n")
        return code
    if given.has("f") and answer.status >= 400:
        yield error(f"curl: (22) The requested URL returned error: {answer.status}\n")
        return 22
    body = b"" if given.has("I") else answer.body
    if given.has("i", "I"):
        body = head_of(answer) + body
    code = yield from _kept(process, body, given.value("o", "-"))
    yield from _written_out(given, answer.status)
    return code


def _limit(given: Given) -> float:
    text = given.value("m")
    return float(text) if re.fullmatch(r"\d{1,6}(\.\d{1,3})?", text) else 300.0


def _written_out(given: Given, status: int) -> Program:
    form = given.value("w")
    text = form.replace("\\n", "\n").replace("%{http_code}", f"{status:03}")
    yield output(text.replace("%{response_code}", f"{status:03}"))
    return 0


def head_of(answer: Answer) -> bytes:
    """The head of an answer as it is sent."""
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {answer.status} {phrase}"]
    lines += [f"{name.title()}: {text}" for name, text in answer.headers.items()]
    lines.append(f"Content-Length: {len(answer.body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _kept(process: Process, data: bytes, name: str) -> Program:
    """Write what was fetched to a file, or to the output."""
    if name == "-":
        yield Write(STDOUT, data)
        return 0
    try:
        process.files.write(process.path(name), data)
    except FileError as failed:
        yield error(f"{process.arguments[0]}: {failed}\n")
        return 23
    return 0


def wget(process: Process) -> Program:
    given = _WGET.read(process.arguments[1:])
    address, data = "".join(given.operands[-1:]), given.value("post-data")
    method = "POST" if given.has("post-data") else "GET"
    call = _Call(address, method, data, given.values("header"), follows=True)
    try:
        answer = _fetch(process, call)
    except NetworkError as failed:
        yield error(f"wget: can't connect to {address}: {failed}\n")
        return 1
    if answer.status >= 400:
        yield error(f"wget: server returned error: HTTP/1.1 {answer.status}\n")
        return 1
    if given.has("spider"):  # it only asks whether it is there
        return 0
    path = urlsplit(address if "://" in address else f"//{address}").path
    name = given.value("O") or posixpath.basename(path) or "index.html"
    return (yield from _kept(process, answer.body, name))


def netcat(process: Process) -> Program:
    """`nc HOST PORT`: sends its input and shows the answer; `-z` only connects."""
    given = _NETCAT.read(process.arguments[1:])
    words = given.operands
    host, port = words[-2:] if len(words) > 1 else ["", ""]
    number = whole_number(port)
    if not host or number is None:
        yield error("usage: nc [-uzv] [-w SECONDS] HOST PORT\n")
        return 1
    protocol = UDP if given.has("u") else TCP
    try:
        sent = b"" if given.has("z") else (yield from read_all(process, _MAX_SENT))
        answer = process.surroundings.network.send(protocol, host, number, sent)
    except NetworkError as failed:
        yield error(f"nc: connect to {host} port {port} ({protocol.lower()}) failed: {failed}\n")
        return 1
    if given.has("v"):
        yield error(f"Connection to {host} {port} port [{protocol.lower()}/*] succeeded!\n")
    yield Write(STDOUT, answer)
    return 0


def nslookup(process: Process) -> Program:
    """Also as `host` and `getent hosts`."""
    names = _NSLOOKUP.read(process.arguments[1:]).operands
    name = names[-1] if names else ""
    try:
        found = process.surroundings.network.addresses(name)
    except NetworkError as failed:
        yield error(f"{process.arguments[0]}: can't resolve '{name}': {failed}\n")
        return 1
    form = (
        "{address} {name}\n"
        if "getent" in process.arguments[0]
        else "Name:\t{name}\nAddress: {address}\n"
    )
    yield output("".join(form.format(name=name, address=each) for each in found))
    return 0


def dig(process: Process) -> Program:
    """`dig [+short] [+search] NAME [TYPE]`: the addresses of a name, one to a line."""
    words = [word for word in process.arguments[1:] if word[:1] not in "+-@"]
    kinds = [word.upper() for word in words if word.upper() in ("A", "AAAA", "SRV", "PTR", "CNAME")]
    names = [word for word in words if word.upper() not in kinds]
    kind, name = (kinds or ["A"])[0], (names or [""])[0]
    is_short = "+short" in process.arguments
    is_whole = "+search" not in process.arguments and not name.endswith(".")
    try:
        found = process.surroundings.network.records(kind, name + ("." if is_whole else ""))
    except NetworkError:
        return 0
    yield output(
        "".join(f"{each}\n" if is_short else f"{name}\t30\tIN\t{kind}\t{each}\n" for each in found)
    )
    return 0


NETWORK_PROGRAMS: Mapping[str, Callable[[Process], Program]] = {
    "curl": curl,
    "dig": dig,
    "getent": nslookup,
    "host": nslookup,
    "nc": netcat,
    "nslookup": nslookup,
    "wget": wget,
}
