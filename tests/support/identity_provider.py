"""A small but real identity provider: HTTPS, discovery, keys, and a token endpoint that
refreshes."""

from __future__ import annotations

import base64
import json
import ssl
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from fairlead.process.certificates.authority import ensure_pki
from support import http_server

CLIENT, SECRET = "fair lead", "s:ecret"
_KEY = rsa.generate_private_key(65537, 2048)


class IdentityProvider:
    """Knows one client and one refresh token at a time. `forms` are the requests to the token
    endpoint, `answer` replaces fields of its answers (None omits one)."""

    def __init__(self, directory: Path) -> None:
        pki = ensure_pki(directory, ["127.0.0.1"])
        self.ca = pki.ca.certificate
        self.refresh_token = "refresh-1"
        self.rotates = False
        self.wants_form = False  # the client authenticates in the form, not in a header
        self.answer: dict[str, Any] = {}
        self.discovery: dict[str, Any] | bytes | None = None
        self.forms: list[dict[str, str]] = []
        self.lifetime = 3600.0
        self._server = self._listening(pki.serving.certificate, pki.serving.key)
        self.issuer = f"https://127.0.0.1:{self._server.server_port}/realm"

    def _listening(self, certificate: Path, key: Path) -> http_server.HttpServer:
        outer = self

        class Handler(http_server.Handler):
            def do_GET(self) -> None:
                self.reply(*outer.document(self.path))

            def do_POST(self) -> None:
                body = parse_qs(self.read_body().decode())
                form = {name: values[0] for name, values in body.items()}
                self.reply(*outer.tokens(form, self.headers.get("Authorization", "")))

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return http_server.HttpServer(Handler, context)

    def document(self, path: str) -> tuple[int, bytes]:
        if path == "/realm/.well-known/openid-configuration":
            if isinstance(self.discovery, bytes):
                return 500, self.discovery
            return 200, json.dumps(self.discovery or self._metadata()).encode()
        if path == "/realm/keys":
            return 200, json.dumps({"keys": [_public()]}).encode()
        return 404, b"nothing here"

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "token_endpoint": f"{self.issuer}/token?way=in",
            "jwks_uri": f"{self.issuer}/keys",
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def tokens(self, form: dict[str, str], proof: str) -> tuple[int, bytes]:
        self.forms.append(form)
        if self._client(form, proof) != (CLIENT, SECRET):
            return 401, b'{"error": "invalid_client"}'
        if form.get("grant_type") != "refresh_token" or (
            form.get("refresh_token") != self.refresh_token
        ):
            return 400, b'{"error": "invalid_grant"}'
        answer = {"token_type": "Bearer", "access_token": "a", "id_token": self.id_token()}
        if self.rotates:
            self.refresh_token += "1"
            answer["refresh_token"] = self.refresh_token
        answer.update(self.answer)
        reported = {name: value for name, value in answer.items() if value is not None}
        return 200, json.dumps(reported).encode()

    def _client(self, form: dict[str, str], proof: str) -> tuple[str, str]:
        if self.wants_form:
            return form.get("client_id", ""), form.get("client_secret", "")
        name, _, secret = base64.b64decode(proof.removeprefix("Basic ")).decode().partition(":")
        return unquote(name), unquote(secret)

    def id_token(self, lifetime: float | None = None) -> str:
        now = time.time()
        ends = now + (self.lifetime if lifetime is None else lifetime)
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": "olga", "iat": int(now), "exp": ends}
        head = {"alg": "RS256", "kid": "k", "typ": "JWT"}
        text = ".".join(_text(json.dumps(part).encode()) for part in (head, claims))
        signature = _KEY.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{text}.{_text(signature)}"

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return the user entry with tokens of this provider."""
        config = {
            "idp-issuer-url": self.issuer,
            "client-id": CLIENT,
            "client-secret": SECRET,
            "idp-certificate-authority": str(self.ca),
            "refresh-token": self.refresh_token,
            **more,
        }
        given = {name: value for name, value in config.items() if value is not None}
        return {"auth-provider": {"name": "oidc", "config": given}}

    def close(self) -> None:
        self._server.stop()


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _public() -> dict[str, str]:
    numbers = _KEY.public_key().public_numbers()
    return {
        "kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k",
        "n": _text(numbers.n.to_bytes(256, "big")), "e": _text(numbers.e.to_bytes(3, "big")),
    }  # fmt: skip
