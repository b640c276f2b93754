"""Random bytes, malformed requests and malformed TLS do not harm a server."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

from support.process import ServerProcess
from support.waiting import eventually
from support.wire_fuzzing import Fuzzer

CONNECTIONS = int(os.environ.get("FAIRLEAD_FUZZ_CONNECTIONS", "5000"))
REFUSALS = {501, 505}  # transfer codings and versions that are not spoken


def test_the_server_is_well_after_anything_that_is_sent(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server()
    seed = random.SystemRandom().randrange(2**40)
    fuzzer = Fuzzer(server, seed)
    fuzzer.run(CONNECTIONS // 4)
    before = server.resident_bytes()
    fuzzer.run(CONNECTIONS - CONNECTIONS // 4)
    grown = server.resident_bytes() - before
    assert grown < 12 * 2**20, f"{grown >> 20} MiB more, seed {seed}"
    bad = {code: n for code, n in fuzzer.codes.items() if code >= 500 and code not in REFUSALS}
    assert not bad, f"{bad}, seed {seed}"
    assert {200, 400} <= set(fuzzer.codes)
    log = server.log.read_text()
    assert "Traceback" not in log, f"seed {seed}: {log[-3000:]}"
    client = server.client()
    assert client.get("/readyz").status == 200
    eventually(lambda: _open_sockets(server) < 20, "connections are closed", 150)
    assert server.stop() == 0


def _open_sockets(server: ServerProcess) -> int:
    path = f"/proc/{server.pid}/fd"
    return sum(1 for name in os.listdir(path) if "socket" in _link(f"{path}/{name}"))


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
