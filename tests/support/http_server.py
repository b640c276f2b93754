"""HTTP servers that tests run in threads of their own process."""

from __future__ import annotations

import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_POLL_SECONDS = 0.02  # `stop` takes at most this long


class Handler(BaseHTTPRequestHandler):
    """Logs nothing."""

    disable_nagle_algorithm = True  # else a body waits 40 ms for the delayed ACK of the header

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def reply(self, code: int, content: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        pass


class HttpServer(ThreadingHTTPServer):
    """Serves on a free port until `stop`."""

    # Commands open many connections at once. One that does not fit is tried again after a second.
    request_queue_size = 128

    def __init__(
        self,
        handler: type[BaseHTTPRequestHandler],
        context: ssl.SSLContext | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        super().__init__((address, 0), handler)
        if context is not None:
            self.socket = context.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=self.serve_forever, args=(_POLL_SECONDS,), daemon=True).start()

    def handle_error(self, *arguments: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # lost connections, rejected certificates
            super().handle_error(*arguments)

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
