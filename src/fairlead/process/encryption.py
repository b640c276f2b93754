"""Encryption of a running server: its kms plugins, their health checks, and the file read again."""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from fairlead.api.health import Check
from fairlead.base import clock
from fairlead.base.files import stamp
from fairlead.base.metrics import REGISTRY
from fairlead.process import stores
from fairlead.resources.registry import Resources
from fairlead.storage.backend import StorageError
from fairlead.storage.encryption import configuration
from fairlead.storage.encryption.keyring import Key, Plugged, Sealing

logger = logging.getLogger("fairlead")

LOOK_EVERY = 1.0  # seconds between looks at the file

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
    """The encryption of the store. Every process of a server asks the plugins, so that each can
    tell whether they work, also one that does not read the store itself."""

    def __init__(self, options: argparse.Namespace, resources: Resources) -> None:
        self.reloads = bool(options.encryption_provider_config_automatic_reload)
        self._path: Path = options.encryption_provider_config
        self._resources = resources
        self._is_on = stores.gates_of(options, resources)
        self._sealing = stores.sealing_of(options, resources) or Sealing()
        self._content = self._path.read_bytes()
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
        """Read the file again when it changes. One that is invalid, or whose plugins do not answer,
        is left until it changes again or they do."""
        before, complaint = stamp(self._path), ""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            now = stamp(self._path)
            is_settled, before = now == before, now
            if not is_settled:
                continue
            try:
                if not await asyncio.to_thread(self._reload):
                    continue
            except (configuration.EncryptionError, StorageError, OSError) as error:
                if str(error) != complaint:
                    complaint = str(error)
                    logger.error("the encryption stays as it was: %s", error)
                    _note("failure")
            else:
                complaint = ""
                logger.info("reloaded %s", self._path)
                _note("success")

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
