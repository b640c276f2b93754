"""An OpenID Connect provider: serves the documents of a directory over TLS.

oidc_provider_process.py PORT CERTIFICATE KEY DIRECTORY
"""

from __future__ import annotations

import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

port, certificate, key, root = sys.argv[1:]
DOCUMENTS = {
    "/realm/.well-known/openid-configuration": "configuration",
    "/keys": "keys",
    "/claims": "claims",
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = DOCUMENTS.get(self.path, "")
        if name == "claims":
            (Path(root) / "asked").write_text(self.headers.get("Authorization", ""))
        result = bool(name) and (Path(root) / name).exists()
        content = (Path(root) / name).read_bytes() if result else b"not found"
        self.send_response(200 if result else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


ThreadingHTTPServer.allow_reuse_address = True
server = ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
