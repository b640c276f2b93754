"""Renews the server's own certificates before they expire, and reloads certificate files that other
programs renew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from fairlead.base import clock
from fairlead.base.files import NotReloaded, Reloadable, stamp
from fairlead.base.logs import Logger
from fairlead.process.certificates.authority import (
    DEFAULT_LIFETIMES,
    Clock,
    Lifetimes,
    Pair,
    Pki,
    check_pair,
    ensure_pki,
    utc_now,
)
from fairlead.process.certificates.validity import validity_of
from fairlead.process.data_directory import FileError
from fairlead.process.metrics import show_certificate

logger = Logger("fairlead")

_CHECK_EVERY = 60.0  # seconds
_WARN_AGAIN = timedelta(days=1)
_EXPIRES_SOON = timedelta(days=30)


class Renewal:
    """Renews and reloads certificates. `configured` is the serving certificate of the command line,
    if any. `changed` is called after files changed and reloads them for later handshakes; it may
    raise FileError. With `renews` this process renews the server's own certificates; the other
    processes of the server only reload them."""

    def __init__(
        self,
        directory: Path,
        hosts: list[str],
        pki: Pki,
        *,
        configured: Pair | None,
        changed: Callable[[], None],
        renews: bool = True,
        now: Clock = utc_now,
        lifetimes: Lifetimes = DEFAULT_LIFETIMES,
    ) -> None:
        self._directory = directory
        self._hosts = hosts
        self._serving = configured or pki.serving
        self._followed = (self._serving, pki.ca, pki.admin)
        self._configured = configured
        self._changed = changed
        self._renews = renews
        self._now = now
        self._lifetimes = lifetimes
        self._stamps = self._current_stamps()
        self._warned: dict[str, datetime] = {}
        self._show_certificates()
        self._warn_of_expiry()

    async def run(self) -> None:
        """Check every minute until cancelled."""
        while True:
            await clock.sleep(_CHECK_EVERY)
            if await asyncio.to_thread(self.renew):
                try:
                    self._changed()
                except FileError as error:
                    logger.warning("the server keeps using the certificates that it has", err=error)

    @property
    def reloadable(self) -> Reloadable:
        name = "the serving certificate" if self._configured is None else "--tls-cert-file"
        return Reloadable(name, self.read_again)

    async def read_again(self) -> bool:
        """Check now; returns whether files changed and were reloaded. Raises NotReloaded."""
        try:
            is_new = await asyncio.to_thread(self._has_new_files)
            if is_new:
                self._changed()
        except FileError as error:
            raise NotReloaded(str(error)) from None
        return is_new

    def renew(self) -> bool:
        """Renew certificates that expire soon; return whether files changed and must be
        reloaded."""
        try:
            if self._renews:
                ensure_pki(self._directory, self._hosts, self._now, self._lifetimes)
        except FileError as error:
            self._warn("own certificates cannot be renewed", err=error)
        try:
            is_new = self._has_new_files()
        except FileError as error:
            self._warn("the certificate read before stays in use", err=error)
            return False
        if is_new:
            logger.info("serving with a new certificate", file=self._serving.certificate)
        self._warn_of_expiry()
        return is_new

    def _has_new_files(self) -> bool:
        """Whether files changed since the last call. Raises FileError if they are unusable."""
        stamps = self._current_stamps()
        if stamps == self._stamps:
            return False
        check_pair(self._serving.certificate, self._serving.key)
        self._stamps = stamps
        self._show_certificates()
        return True

    def _show_certificates(self) -> None:
        show_certificate("serving", self._serving.certificate)
        show_certificate("ca", self._followed[1].certificate)

    def _current_stamps(self) -> list[object]:
        return [stamp(pair.certificate) for pair in self._followed]

    def _warn_of_expiry(self) -> None:
        """Warn before the configured certificate expires; the server renews its own in time."""
        if self._configured is None:
            return
        path = self._configured.certificate
        try:
            left = validity_of(path.read_bytes()).left(self._now())
        except (OSError, ValueError):
            return  # the error is reported when it is loaded
        if left <= timedelta():
            self._warn("the serving certificate has expired: clients refuse it", file=path)
        elif left < _EXPIRES_SOON:
            self._warn("the serving certificate expires soon", file=path, days=left.days)

    def _warn(self, message: str, **fields: object) -> None:
        """Log each kind of warning at most once a day."""
        last = self._warned.get(message)
        if last is None or self._now() - last >= _WARN_AGAIN:
            self._warned[message] = self._now()
            logger.warning(message, **fields)
