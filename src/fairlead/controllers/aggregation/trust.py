"""TLS towards extension servers: trusted CAs and our client certificate."""

from __future__ import annotations

import ssl
from pathlib import Path
from time import monotonic

from fairlead.base.files import stamp
from fairlead.base.logs import Logger
from fairlead.controllers.aggregation.extension import Extension
from fairlead.wire.outgoing.response import CallError
from fairlead.wire.outgoing.tls import unchecked
from fairlead.wire.outgoing.webhooks import trusting_bundle

logger = Logger("fairlead")

_POLL_INTERVAL = 1.0


class ProxyTrust:
    """Caches TLS contexts per extension server. `certificate` and `key` are files with our client
    certificate, reloaded when they change (checked once a second)."""

    def __init__(self, certificate: Path | None = None, key: Path | None = None) -> None:
        self._files = (certificate, key) if certificate is not None and key is not None else None
        self._stamps: object = None
        self._next_check = 0.0
        self._contexts: dict[str, tuple[Extension, ssl.SSLContext]] = {}

    def context(self, extension: Extension) -> ssl.SSLContext:
        """The TLS context, the same object until something changes; raises CallError."""
        self._check_files()
        if not self.is_current(extension):
            self._contexts[extension.name] = extension, self._new_context(extension)
        return self._contexts[extension.name][1]

    def _check_files(self) -> None:
        now = monotonic()
        if now < self._next_check:
            return
        self._next_check = now + _POLL_INTERVAL
        stamps = [stamp(path) for path in self._files or ()]
        if stamps != self._stamps and self._are_loadable():
            self._contexts.clear()
            self._stamps = stamps

    def _are_loadable(self) -> bool:
        """Whether the files can be loaded. While they are being replaced, the old ones stay in
        use."""
        try:
            self._load_into(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        except CallError as error:
            logger.warning("cannot load the client certificate for extension servers", err=error)
            return False
        return True

    def is_current(self, extension: Extension) -> bool:
        """Whether address and TLS settings of an extension are unchanged."""
        previous, _ = self._contexts.get(extension.name) or (None, None)
        return previous is not None and _tls_settings(previous) == _tls_settings(extension)

    def forget(self, name: str) -> None:
        """Drop the context of an extension that is gone."""
        self._contexts.pop(name, None)

    def _new_context(self, extension: Extension) -> ssl.SSLContext:
        context = unchecked() if extension.insecure else trusting_bundle(extension.ca_bundle)
        self._load_into(context)
        return context

    def _load_into(self, context: ssl.SSLContext) -> None:
        if self._files is None:
            return
        try:
            context.load_cert_chain(*self._files)
        except (OSError, ValueError) as error:
            raise CallError(f"the proxy's client certificate cannot be used: {error}") from None


def _tls_settings(extension: Extension) -> tuple[str, int, str, bool]:
    return extension.host, extension.service_port, extension.ca_bundle, extension.insecure
