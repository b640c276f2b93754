"""An HTTP server that stands for a pod or a node's agent."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from email.message import Message

from support import http_server


@dataclass(slots=True)
class ReceivedRequest:
    method: str
    path: str
    headers: Message
    body: bytes


@dataclass(slots=True)
class Reply:
    """An answer. `pieces` are sent one by one, in chunks, each after its event if it has one."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    pieces: Iterable[tuple[threading.Event | None, bytes]] | None = None
    cut_off: bool = False  # close in the middle of the chunks


def own_address() -> str:
    """Return an address of this machine that is not loopback, or "". No packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.1", 9))
        except OSError:
            return ""
        text: str = probe.getsockname()[0]
    return "" if text.startswith("127.") else text


class Neighbour:
    """Answers every request with the result of `answer`, and records the requests in `requests`."""

    def __init__(self, context: ssl.SSLContext | None = None, address: str = "127.0.0.1") -> None:
        outer = self
        self.requests: list[ReceivedRequest] = []
        self.answer: Callable[[ReceivedRequest], Reply] = lambda item: Reply(body=b"hello")
        self.disconnected = threading.Event()  # a client disconnected during an answer

        class Handler(http_server.Handler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                request = ReceivedRequest(self.command, self.path, self.headers, self.read_body())
                outer.requests.append(request)
                response = outer.answer(request)
                self.send_response(response.status)
                for name, value in response.headers.items():
                    self.send_header(name, value)
                try:
                    self._send_body(response)
                except OSError:
                    outer.disconnected.set()
                    self.close_connection = True

            def _send_body(self, says: Reply) -> None:
                if says.pieces is not None:
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    self._send_pieces(says)
                    return
                self.send_header("Content-Length", str(len(says.body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(says.body)

            def _send_pieces(self, says: Reply) -> None:
                for event, piece in says.pieces or ():
                    if event is not None:
                        event.wait(20)
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                if says.cut_off:
                    self.close_connection = True
                else:
                    self.wfile.write(b"0\r\n\r\n")

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _serve

        self._server = http_server.HttpServer(Handler, context, address)
        self.port = self._server.server_port

    def close(self) -> None:
        self._server.stop()
