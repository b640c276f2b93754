"""A validating webhook: images of pods must come from an allowed registry and have a digest or a
tag other than `latest`.

It needs only Python's standard library:

    image_policy.py serve --certificate tls.crt --key tls.key --registry registry.example.com
    image_policy.py configuration --url https://127.0.0.1:8443/ --ca tls.crt
"""

from __future__ import annotations

import argparse
import json
import re
import ssl
import sys
from base64 import b64encode
from collections.abc import Collection, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Object = dict[str, Any]

NAME = "image-policy.example.com"
OPT_IN = {"example.com/image-policy": "enforced"}  # the label of namespaces that want it
LISTS = ("initContainers", "containers", "ephemeralContainers")
MAX_BYTES = 8 << 20
SECONDS_TO_ASK = 10.0  # for a client to send its request

# As image references are read: the first step is a host only if it looks like one.
REFERENCE = re.compile(
    r"(?:(?P<host>localhost|[^/]*[.:][^/]*)/)?[^:@]+(?::(?P<tag>[\w.-]+))?(?:@(?P<digest>\w+:\w+))?"
)
DEFAULT_HOST = "docker.io"


def complaints(pod: Object, registries: Collection[str]) -> Iterator[str]:
    """Yield the problems with the images of a pod, each with its field."""
    spec = pod.get("spec") or {}
    for name in LISTS:
        for number, container in enumerate(spec.get(name) or ()):
            for text in image_complaints(str(container.get("image") or ""), registries):
                yield f"spec.{name}[{number}].image: {text}"


def image_complaints(image: str, registries: Collection[str]) -> Iterator[str]:
    match = REFERENCE.fullmatch(image)
    if match is None:
        yield f'"{image}" is not the name of an image'
        return
    host = match["host"] or DEFAULT_HOST
    if host not in registries:
        yield f'"{image}" comes from {host}, not from {" or ".join(sorted(registries))}'
    if not match["digest"] and match["tag"] in (None, "latest"):
        yield f'"{image}" has neither a digest nor a tag other than latest'


def answer(review: Object, registries: Collection[str]) -> Object:
    """Return the review with its response; raises KeyError or TypeError if it is malformed."""
    request = review["request"]
    response: Object = {"uid": request["uid"], "allowed": True}
    if problems := list(complaints(request["object"], registries)):
        status = {"code": 422, "reason": "Invalid", "message": "; ".join(problems)}
        response |= {"allowed": False, "status": status}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


def configuration(url: str, ca: bytes) -> Object:
    """Return the webhook configuration. Pods are refused while the webhook does not answer, so it
    is called only for namespaces with the label, and never for system namespaces."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["pods", "pods/ephemeralcontainers"],
        "scope": "Namespaced",
    }
    webhook = {
        "name": NAME,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": url, "caBundle": b64encode(ca).decode()},
        "failurePolicy": "Fail",
        "namespaceSelector": {"matchLabels": OPT_IN},
        "rules": [rule],
        "sideEffects": "None",
        "timeoutSeconds": 5,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [webhook],
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = SECONDS_TO_ASK
    registries: Collection[str] = ()

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            return self._send(411, b"the length of the review is missing")
        if int(length) > MAX_BYTES:
            return self._send(413, b"the review is too large")
        content = self.rfile.read(int(length))
        try:
            answered = json.dumps(answer(json.loads(content), self.registries)).encode()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return self._send(400, b"this is no AdmissionReview of a pod")
        self._send(200, answered, "application/json")

    def _send(self, code: int, content: bytes, type: str = "text/plain") -> None:
        self.close_connection = self.close_connection or code != 200
        self.send_response(code)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], tls: ssl.SSLContext, registries: list[str]
    ) -> None:
        handler = type("Handler", (Handler,), {"registries": frozenset(registries)})
        super().__init__(address, handler)
        # Handshakes are for the thread of the connection: one that hangs must not hold up others.
        self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request: object, client_address: object) -> None:
        print(f"{client_address}: {sys.exception()}", file=sys.stderr)


def serve(options: argparse.Namespace) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(options.certificate, options.key)
    with Server((options.address, options.port), tls, options.registry) as server:
        print(f"https://{options.address}:{server.server_address[1]}/", flush=True)
        server.serve_forever()


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="allow images by registry and tag")
    commands = parser.add_subparsers(dest="command", required=True)
    serving = commands.add_parser("serve", help="answer reviews; prints its URL")
    serving.add_argument("--address", default="127.0.0.1")
    serving.add_argument("--port", type=int, default=8443)
    serving.add_argument("--certificate", type=Path, required=True)
    serving.add_argument("--key", type=Path, required=True)
    serving.add_argument("--registry", action="append", required=True, help="may be repeated")
    configuring = commands.add_parser("configuration", help="print the configuration to apply")
    configuring.add_argument("--url", required=True)
    configuring.add_argument("--ca", type=Path, required=True, help="who signed the certificate")
    return parser.parse_args(words)


def main(words: list[str]) -> None:
    options = parse(words)
    if options.command == "serve":
        serve(options)
    else:
        print(json.dumps(configuration(options.url, options.ca.read_bytes()), indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
