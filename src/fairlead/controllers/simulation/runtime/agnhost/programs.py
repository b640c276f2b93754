"""The programs of agnhost by name, and the small ones of them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from fairlead.base.digits import whole_number
from fairlead.controllers.simulation.runtime.agnhost.consumers import controller
from fairlead.controllers.simulation.runtime.agnhost.flags import FlagError, parse_flags
from fairlead.controllers.simulation.runtime.agnhost.guestbook import guestbook
from fairlead.controllers.simulation.runtime.agnhost.mounttest import mounttest
from fairlead.controllers.simulation.runtime.agnhost.netexec import netexec
from fairlead.controllers.simulation.runtime.agnhost.servers import (
    grpc_health,
    liveness,
    nettest,
    porter,
    serve_hostname,
    test_webserver,
)
from fairlead.controllers.simulation.runtime.files import FileError
from fairlead.controllers.simulation.runtime.process import (
    Process,
    Program,
    Wait,
    error,
    output,
)
from fairlead.controllers.simulation.runtime.serving import serve
from fairlead.controllers.simulation.runtime.surroundings import (
    LATE,
    NO_LISTENER,
    NO_NAME,
    NetworkError,
)

_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
_METHODS, _NAMESPACES = ("GET", "POST", "PUT"), ("kube-system", "default", "ns")
_MAX_LINES = 1_000
# How the outcome of `connect` is told.
_FAILURES = {NO_NAME: "DNS", LATE: "TIMEOUT", NO_LISTENER: "REFUSED"}


def agnhost(process: Process) -> Program:
    """`agnhost PROGRAM [ARGUMENT...]`."""
    name, *words = process.arguments[1:] or ["help"]
    program = AGNHOST.get(name)
    if program is None:
        known = ", ".join(sorted(AGNHOST))
        yield error(f'Error: unknown command "{name}" for "app"; simulated are {known}\n')
        return 1
    try:
        return (yield from program(process, words))
    except FlagError as failed:
        yield error(f"Error: {failed}\n")
        return 1


def _pause(process: Process, words: list[str]) -> Program:
    yield output("Paused\n")
    return (yield from serve(process, {}))


def _entry_point(process: Process, words: list[str]) -> Program:
    yield output(f"[{' '.join(process.arguments)}]\n")
    return 0


def _hosts(process: Process, words: list[str]) -> Program:
    yield output(process.files.read("/etc/hosts").decode())
    return 0


def _suffixes(process: Process, words: list[str]) -> Program:
    yield output(",".join(process.surroundings.network.names().get("search", ())) + "\n")
    return 0


def _name_servers(process: Process, words: list[str]) -> Program:
    yield output(",".join(process.surroundings.network.names().get("nameserver", ())) + "\n")
    return 0


def _connect(process: Process, words: list[str]) -> Program:
    flags = parse_flags(words, {"timeout": "0s", "protocol": "tcp"})
    host, _, port = flags.others[0].rpartition(":") if flags.others else ("", "", "")
    number = whole_number(port)
    if number is None:
        yield error("UNKNOWN: the address has no port\n")
        return 1
    data = b"hostname" if flags.text("protocol") == "udp" else b""
    network = process.surroundings.network
    try:
        network.send(flags.text("protocol").upper(), host.strip("[]"), number, data)
    except NetworkError as failed:
        kind = _FAILURES.get(str(failed), "OTHER")
        if kind == "TIMEOUT":
            yield Wait(flags.seconds("timeout"))
        yield error("TIMEOUT\n" if kind == "TIMEOUT" else f"{kind}: {failed}\n")
        return 1
    return 0


def _generate_logs(process: Process, words: list[str]) -> Program:
    """Lines such as those of a server's log, evenly over a time."""
    flags = parse_flags(
        words,
        {"log-lines-total": "0", "run-duration": "0s"},
        {"t": "log-lines-total", "d": "run-duration"},
    )
    count, seconds = flags.number("log-lines-total"), flags.seconds("run-duration")
    if count <= 0 or seconds <= 0:
        yield error("the number of lines and the duration must be positive\n")
        return 255
    for number in range(min(count, _MAX_LINES)):
        digest = hashlib.sha256(f"{process.hostname}{number}".encode()).digest()
        method, namespace = _METHODS[digest[0] % 3], _NAMESPACES[digest[1] % 3]
        path = f"/api/v1/namespaces/{namespace}/pods/{digest[2:4].hex()}"
        moment = datetime.fromtimestamp(process.time(), UTC)
        status = 200 + int.from_bytes(digest[4:6]) % 400
        yield error(
            f"I{moment:%m%d %H:%M:%S.%f}       1 logs_generator.go:76] "
            f"{number} {method} {path} {status}\n"
        )
        yield Wait(seconds / count)
    return 0


def _poll_api(process: Process, words: list[str]) -> Program:
    """Tells the token of the service account, as a hash, each time that it is read."""
    flags = parse_flags(words, {"poll-interval": "30"})
    yield error("started\n")
    while True:
        try:
            token = b"Bearer " + process.files.read(_TOKEN)
        except FileError as failed:
            yield error(f"status=failed\nerror checking /healthz: {failed}\n")
        else:
            digest = base64.urlsafe_b64encode(hashlib.sha256(token).digest()).decode().rstrip("=")
            yield error(f"calling /healthz\nauthz_header={digest}\n")
        yield Wait(float(max(1, flags.number("poll-interval"))))


AGNHOST: Mapping[str, Callable[[Process, list[str]], Program]] = {
    "connect": _connect,
    "dns-server-list": _name_servers,
    "dns-suffix": _suffixes,
    "entrypoint-tester": _entry_point,
    "etc-hosts": _hosts,
    "grpc-health-checking": grpc_health,
    "guestbook": guestbook,
    "inclusterclient": _poll_api,
    "liveness": liveness,
    "logs-generator": _generate_logs,
    "mounttest": mounttest,
    "netexec": netexec,
    "nettest": nettest,
    "pause": _pause,
    "porter": porter,
    "resource-consumer-controller": controller,
    "serve-hostname": serve_hostname,
    "test-webserver": test_webserver,
}
