"""Encryption of a running server: its kms plugins, their health checks, and the file read again."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fairlead.api.health import Check
from fairlead.base import clock
from fairlead.base.files import NotReloaded, Reloadable, stamp
from fairlead.base.logs import Logger
from fairlead.base.metrics import REGISTRY
from fairlead.process import stores
from fairlead.resources.registry import Resources
from fairlead.storage.backend import StorageError
from fairlead.storage.encryption import configuration
from fairlead.storage.encryption.keyring import Key, Plugged, Sealing

logger = Logger("fairlead")

CHECK_EVERY = 1.0  # seconds between looks at the file

_PREFIX = "apiserver_encryption_config_controller_automatic_reload"
RELOADS = REGISTRY.counter(
    f"{_PREFIX}s", "Reloads of the file of --encryption-provider-config, by outcome.", ("status",)
)
LAST_RELOAD = REGISTRY.gauge(
    f"{_PREFIX}_last_timestamp_seconds",
    "Time of the last reload of the file of --encryption-provider-config, by outcome.",
    ("status",),
)


class ServerEncryption:
    """The encryption of the store. Every process of a server calls the plugins, also one that does
    not read the store itself, so that each can report their health."""

    def __init__(self, options: argparse.Namespace, resources: Resources) -> None:
        self.reloads = bool(options.encryption_provider_config_automatic_reload)
        self._path: Path = options.encryption_provider_config
        self._resources = resources
        self._is_on = stores.gates_of(options, resources)
        self._sealing = stores.sealing_of(options, resources) or Sealing()
        self._content = self._path.read_bytes()
        self._reading = asyncio.Lock()
        self._complaint = ""
        self._sealing.start()

    def checks(self) -> dict[str, Check]:
        """The health checks of the plugins, by name: a single one if the file may change."""
        sealing = self._sealing
        if not sealing.plugins():
            return {}
        if self.reloads:
            return {"kms-providers": lambda: _problem(sealing.plugins())}
        return {
            f"kms-provider-{number}": _check_of(plugin)
            for number, plugin in enumerate(sealing.plugins())
        }

    async def run(self) -> None:
        """Read the file again when it changes. An invalid file is tried again when it changes; one
        whose plugins do not answer, when they do."""
        before = stamp(self._path)
        while True:
            await asyncio.sleep(CHECK_EVERY)
            now = stamp(self._path)
            is_settled, before = now == before, now
            if is_settled:
                with suppress(NotReloaded):
                    if await self.read_again():
                        logger.info("reloaded the encryption", file=self._path)

    @property
    def reloadable(self) -> Reloadable:
        return Reloadable("--encryption-provider-config", self.read_again)

    async def read_again(self) -> bool:
        """Return whether the file was new; raises NotReloaded. A failure is logged and counted
        once, not for every attempt."""
        async with self._reading:
            try:
                is_new = await asyncio.to_thread(self._reload)
            except (configuration.EncryptionError, StorageError, OSError) as error:
                if str(error) != self._complaint:
                    self._complaint = str(error)
                    logger.error("the encryption stays as it was", err=error)
                    _note("failure")
                raise NotReloaded(str(error)) from None
        self._complaint = ""
        if is_new:
            _note("success")
        return is_new

    def _reload(self) -> bool:
        """Return whether the file was new; raises EncryptionError, StorageError, OSError."""
        content = self._path.read_bytes()
        if content == self._content:
            return False
        sealing = self._sealing
        earlier = sealing.plugins()
        dialect, release = self._resources.dialect, self._resources.release
        keys = configuration.read_keys(self._path, dialect, release, self._is_on, _known(sealing))
        replacement = Sealing(keys)
        replacement.start()
        for plugin in replacement.plugins():
            plugin.check()
        sealing.replace(keys)
        self._content = content
        for plugin in earlier:
            if plugin not in sealing.plugins():
                plugin.close()
        return True


def _known(sealing: Sealing) -> dict[object, Key]:
    known: dict[object, Key] = {}
    for key in sealing.all_keys():
        cipher = key.cipher
        if isinstance(cipher, Plugged):
            known[cipher.plugin] = key
    return known


def _problem(plugins: list[Plugged]) -> str | None:
    return next((problem for plugin in plugins if (problem := _check_of(plugin)())), None)


def _check_of(plugin: Plugged) -> Callable[[], str | None]:
    def check() -> str | None:
        try:
            plugin.check()
        except StorageError as error:
            return str(error)
        return None

    return check


def _note(status: str) -> None:
    RELOADS.add(of=(status,))
    LAST_RELOAD.set(clock.time(), (status,))
