"""A plugin of a key management service on a unix socket, with grpcio as those of others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from os import urandom
from pathlib import Path
from threading import Event
from typing import Any

import grpc
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from fairlead.storage.encryption.kms_messages import Message, field, map_field
from support.client import PATIENCE

_NONCE = 12


class Plugin:
    """Serves version v1beta1, v2alpha1 or v2. Tests change how it behaves."""

    def __init__(self, socket: Path, version: str = "v2") -> None:
        self.socket = socket
        self.version = version
        self.reported_version = version
        self.key_id = "key-1"
        self.health = "ok"
        self.gates: dict[str, Event] = {}  # by the method that answers only once its gate is open
        self.refuses = False
        self.wrong: bytes | None = None  # answers of Decrypt and Encrypt
        self.calls: list[str] = []
        self._server: Any = None

    @property
    def endpoint(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> Plugin:
        self._server = grpc.server(ThreadPoolExecutor(4))
        methods = {
            name: grpc.unary_unary_rpc_method_handler(self._counted(name, answer))
            for name, answer in self._answers().items()
        }
        service = f"{self.version}.KeyManagementService"
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(service, methods),)
        )
        self._server.add_insecure_port(self.endpoint)
        self._server.start()
        return self

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop(0).wait()
            self._server = None
            self.socket.unlink(missing_ok=True)

    def _answers(self) -> dict[str, Callable[[Message], bytes]]:
        if self.version == "v1beta1":
            return {
                "Version": lambda _: field(1, self.reported_version) + field(2, "test"),
                "Encrypt": lambda request: field(1, self._wrap(request.content(2))),
                "Decrypt": lambda request: field(1, self._unwrap(request.content(2), "key-1")),
            }
        return {"Status": self._status, "Encrypt": self._encrypt, "Decrypt": self._decrypt}

    def _counted(self, name: str, answer: Callable[[Message], bytes]) -> Callable[..., bytes]:
        def call(request: bytes, context: grpc.ServicerContext) -> bytes:
            self.calls.append(name)
            if name in self.gates and not self.gates[name].wait(PATIENCE):
                context.abort(grpc.StatusCode.ABORTED, "nobody opens the gate")
            if self.refuses:
                context.abort(grpc.StatusCode.UNAVAILABLE, "the service is away")
            try:
                return answer(Message(request))
            except (InvalidTag, ValueError):
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "cannot decrypt")

        return call

    def _status(self, request: Message) -> bytes:
        return field(1, self.reported_version) + field(2, self.health) + field(3, self.key_id)

    def _encrypt(self, request: Message) -> bytes:
        annotations = {"version.kms.example.com": self.key_id.encode()}
        wrapped = self._wrap(request.content(1))
        return field(1, wrapped) + field(2, self.key_id) + map_field(3, annotations)

    def _decrypt(self, request: Message) -> bytes:
        if request.entries(4) != {"version.kms.example.com": request.content(3)}:
            raise ValueError("other annotations")
        return field(1, self._unwrap(request.content(1), request.text(3)))

    def _wrap(self, secret: bytes) -> bytes:
        if self.wrong is not None:
            return self.wrong
        nonce = urandom(_NONCE)
        return nonce + _cipher(self.key_id).encrypt(nonce, secret, None)

    def _unwrap(self, wrapped: bytes, key_id: str) -> bytes:
        if self.wrong is not None:
            return self.wrong
        return _cipher(key_id).decrypt(wrapped[:_NONCE], wrapped[_NONCE:], None)


def _cipher(key_id: str) -> AESGCM:
    return AESGCM(sha256(key_id.encode()).digest())
