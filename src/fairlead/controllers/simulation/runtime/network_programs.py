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
# Options of curl with a value, by what they are for; others with a value are read over.
_CURL_VALUES = {
    "-X": "method",
    "--request": "method",
    "-o": "file",
    "--output": "file",
    "-H": "header",
    "--header": "header",
    "-w": "form",
    "--write-out": "form",
    "-d": "data",
    "--data": "data",
    "-m": "limit",
    "--max-time": "limit",
    "--connect-timeout": "limit",
    **dict.fromkeys(("--interface", "-A", "--user-agent", "--cacert", "-u", "--retry"), "other"),
    **dict.fromkeys(("--retry-delay", "-F", "--form", "--resolve", "-b", "-e", "-T"), "other"),
}
_CURL_CODES = {NO_NAME: 6, LATE: 28}  # all other failures: 7


class _Call(NamedTuple):
    """What the options of curl or wget ask for."""

    address: str
    letters: str
    values: Mapping[str, str]
    headers: Mapping[str, str]


def _fetch(process: Process, call: _Call) -> Answer:
    """Raises NetworkError."""
    address = call.address if "://" in call.address else f"http://{call.address}"
    for _ in range(_MAX_REDIRECTS):
        parts, port = _parts(address)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        method = call.values.get("method") or ("POST" if "data" in call.values else "GET")
        headers = {"host": parts.netloc, "user-agent": "simulated", "accept": "*/*", **call.headers}
        data = call.values.get("data", "").encode()
        request = Request(method, target, headers, is_tls=parts.scheme == "https", body=data)
        answer = process.surroundings.network.get(parts.hostname or "", port, request)
        place = answer.headers.get("location")
        if place is None or "L" not in call.letters or not 300 <= answer.status < 400:
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


def _options(words: list[str], with_value: Mapping[str, str]) -> _Call:
    letters, address = "", ""
    values: dict[str, str] = {}
    headers: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in with_value and (rest or equals):
            value = value if equals else rest.pop(0)
            if with_value[name] == "header":
                header, _, text = value.partition(":")
                headers[header.strip().lower()] = text.strip()
            else:
                values[with_value[name]] = value
        elif word.startswith("--"):
            letters += _LONG.get(word, "")
        elif word.startswith("-") and len(word) > 1:
            at = next((at for at, each in enumerate(word) if at and f"-{each}" in with_value), 0)
            letters += word[1:at] if at else word[1:]
            if at:  # such as -sSo /dev/null, or -qO-
                kept = word[at + 1 :] or (rest.pop(0) if rest else "")
                values[with_value[f"-{word[at]}"]] = kept
        else:
            address = word
    return _Call(address, letters, values, headers)


_LONG = {
    "--silent": "s",
    "--show-error": "S",
    "--fail": "f",
    "--include": "i",
    "--head": "I",
    "--location": "L",
    "--spider": "I",
    "--quiet": "q",
}


def curl(process: Process) -> Program:
    call = _options(process.arguments[1:], _CURL_VALUES)
    if not call.address:
        yield error("curl: (2) no URL specified\n")
        return 2
    if "I" in call.letters:
        call = call._replace(values={"method": "HEAD", **call.values})
    try:
        answer = _fetch(process, call)
        if answer.delay:
            yield Wait(min(answer.delay, _limit(call)))
        if answer.delay > _limit(call):
            raise NetworkError(LATE)
    except NetworkError as failed:
        code = _CURL_CODES.get(str(failed), 7)
        yield from _written_out(process, call, 0)
        if "s" not in call.letters or "S" in call.letters:
            yield error(f"curl: ({code}) {call.address}: {failed}\n")
        return code
    if "f" in call.letters and answer.status >= 400:
        yield error(f"curl: (22) The requested URL returned error: {answer.status}\n")
        return 22
    body = b"" if "I" in call.letters else answer.body
    if "i" in call.letters or "I" in call.letters:
        body = head_of(answer) + body
    code = yield from _kept(process, body, call.values.get("file", "-"))
    yield from _written_out(process, call, answer.status)
    return code


def _limit(call: _Call) -> float:
    text = call.values.get("limit", "")
    return float(text) if re.fullmatch(r"\d{1,6}(\.\d{1,3})?", text) else 300.0


def _written_out(process: Process, call: _Call, status: int) -> Program:
    form = call.values.get("form", "")
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


_WGET_VALUES = {
    "-O": "file",
    "--output-document": "file",
    "-T": "limit",
    "--timeout": "limit",
    "-t": "other",
    "--tries": "other",
    "--header": "header",
    "-S": "other",
    "--post-data": "data",
}


def wget(process: Process) -> Program:
    call = _options(process.arguments[1:], _WGET_VALUES)
    call = call._replace(letters=call.letters + "L")
    try:
        answer = _fetch(process, call)
    except NetworkError as failed:
        yield error(f"wget: can't connect to {call.address}: {failed}\n")
        return 1
    if answer.status >= 400:
        yield error(f"wget: server returned error: HTTP/1.1 {answer.status}\n")
        return 1
    if "I" in call.letters:  # it only asks whether it is there
        return 0
    path = urlsplit(call.address if "://" in call.address else f"//{call.address}").path
    return (
        yield from _kept(
            process,
            answer.body,
            call.values.get("file") or posixpath.basename(path) or "index.html",
        )
    )


def netcat(process: Process) -> Program:
    """`nc HOST PORT`: sends its input and shows the answer; `-z` only connects."""
    call = _options(
        process.arguments[1:], {"-w": "limit", "-p": "other", "-s": "other", "-i": "other"}
    )
    words = [word for word in process.arguments[1:] if not word.startswith("-")]
    host, port = words[-2:] if len(words) > 1 else ["", ""]
    number = whole_number(port)
    if not host or number is None:
        yield error("usage: nc [-uzv] [-w SECONDS] HOST PORT\n")
        return 1
    protocol = UDP if "u" in call.letters else TCP
    try:
        sent = b"" if "z" in call.letters else (yield from read_all(process, _MAX_SENT))
        answer = process.surroundings.network.send(protocol, host, number, sent)
    except NetworkError as failed:
        yield error(f"nc: connect to {host} port {port} ({protocol.lower()}) failed: {failed}\n")
        return 1
    if "v" in call.letters:
        yield error(f"Connection to {host} {port} port [{protocol.lower()}/*] succeeded!\n")
    yield Write(STDOUT, answer)
    return 0


def nslookup(process: Process) -> Program:
    """Also as `host` and `getent hosts`."""
    names = [word for word in process.arguments[1:] if not word.startswith("-")]
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
