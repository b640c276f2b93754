"""A conversion webhook on a real HTTPS server."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairlead.process.certificates.authority import ensure_pki
from support import http_server

Object = dict[str, Any]


def between_versions(value: Object, api_version: str) -> Object:
    """v1 has `spec.address` (`host:port`), v2 has `spec.host` and `spec.port`."""
    spec = dict(value.get("spec") or {})
    if api_version.endswith("/v1") and "host" in spec:
        spec["address"] = f"{spec.pop('host')}:{spec.pop('port')}"
    elif api_version.endswith("/v2") and "address" in spec:
        spec["host"], _, port = spec.pop("address").partition(":")
        spec["port"] = int(port)
    return {**value, "apiVersion": api_version, "spec": spec}


class ConversionServer:
    """Converts what it is sent. `respond` may change the whole answer; `reviews` are the reviews
    that came."""

    def __init__(self, directory: Path, *hosts: str, address: str = "127.0.0.1") -> None:
        outer = self
        self.reviews: list[Object] = []
        self.convert: Callable[[Object, str], Any] = between_versions
        self.respond: Callable[[Object], Any] = lambda review: review
        pki = ensure_pki(directory, ["127.0.0.1", *hosts])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki.serving.certificate, pki.serving.key)
        self.bundle = base64.b64encode(pki.ca.certificate.read_bytes()).decode()

        class Handler(http_server.Handler):
            def do_POST(self) -> None:
                answer = outer.answer(json.loads(self.read_body()))
                self.reply(200, json.dumps(answer).encode())

        self._server = http_server.HttpServer(Handler, context, address)
        self.port = self._server.server_port

    def answer(self, review: Object) -> Any:
        self.reviews.append(review)
        request = review["request"]
        created = [
            self.convert(object_, request["desiredAPIVersion"]) for object_ in request["objects"]
        ]
        response = {
            "uid": request["uid"],
            "result": {"status": "Success"},
            "convertedObjects": created,
        }
        head = {"kind": review["kind"], "apiVersion": review["apiVersion"]}
        return self.respond({**head, "response": response})

    def conversion(self, *versions: str, **config: Any) -> Object:
        """Return the conversion of a definition that uses this webhook."""
        config = config or {"url": f"https://127.0.0.1:{self.port}/convert"}
        client = {**config, "caBundle": self.bundle}
        webhook = {
            "clientConfig": client,
            "conversionReviewVersions": list(versions or ("v1", "v1beta1")),
        }
        return {"strategy": "Webhook", "webhook": webhook}

    def close(self) -> None:
        self._server.stop()
