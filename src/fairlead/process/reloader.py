"""SIGHUP: reads files again, and logs a line about each."""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.api.app import Application
from fairlead.api.audit import setup as audit_setup
from fairlead.base.files import NotReloaded, Reloadable, stamp
from fairlead.base.logs import Logger
from fairlead.process.assembly import Assembly
from fairlead.process.certificates.renewal import Renewal
from fairlead.process.metrics import RELOAD_FAILED
from fairlead.process.service_manager import ServiceManager
from fairlead.process.verbosity import reloadable_verbosity

if TYPE_CHECKING:
    from fairlead.api.audit.auditor import Auditor
    from fairlead.process.encryption import ServerEncryption

logger = Logger("fairlead")

# Options with files that a running server does not read again, nor follows by itself.
_READ_AT_START = (
    "admission_control_config_file",
    "audit_webhook_config_file",
    "authentication_token_webhook_config_file",
    "authorization_policy_file",
    "authorization_webhook_config_file",
    "oidc_ca_file",
    "service_account_key_file",
    "service_account_signing_key_file",
)


class Reloader:
    """Reads `parts` again on request. One process of a server `reports`, that is logs the results;
    the others read the same files silently."""

    def __init__(
        self, parts: Sequence[Reloadable], manager: ServiceManager, *, reports: bool
    ) -> None:
        self._parts = parts
        self._manager = manager
        self._levels = (logging.INFO, logging.ERROR) if reports else (logging.DEBUG, logging.DEBUG)
        self._requested = asyncio.Event()

    def request(self) -> None:
        self._requested.set()

    async def run(self) -> None:
        """Serve requests until cancelled."""
        while True:
            await self._requested.wait()
            self._requested.clear()
            self._manager.reloading()
            for part in self._parts:
                await self._read_again(part)
            logger.log(self._levels[0], "reload: done")
            self._manager.ready("serving")

    async def _read_again(self, part: Reloadable) -> None:
        try:
            is_new = await part.read_again()
        except NotReloaded as error:
            RELOAD_FAILED.set(1, (part.name,))
            text = "reload: what was read before stays in use"
            logger.log(self._levels[1], text, part=part.name, err=error)
        else:
            RELOAD_FAILED.set(0, (part.name,))
            outcome = "the new content is in use" if is_new else "unchanged"
            logger.log(self._levels[0], "reload: read again", part=part.name, outcome=outcome)


def reloadable_parts(
    assembly: Assembly,
    renewal: Renewal,
    auditor: Auditor | None,
    encryption: ServerEncryption | None,
    application: Application,
) -> list[Reloadable]:
    options = assembly.options
    return [
        renewal.reloadable,
        *assembly.api.authentication.reloadable,
        *assembly.authorization.reloadable,
        *_of_audit(assembly, auditor),
        *([encryption.reloadable] if encryption is not None else []),
        *reloadable_verbosity(options, assembly.api, application),
        *_read_at_start(options),
    ]


def _of_audit(assembly: Assembly, auditor: Auditor | None) -> list[Reloadable]:
    if auditor is None:
        return []  # the flag is not set, so its modules are not loaded
    return [audit_setup.reloadable_policy(assembly.options, assembly.dialect, auditor)]


def _read_at_start(options: argparse.Namespace) -> list[Reloadable]:
    """Return a part for each file that is read at start only: it says so if the file changed."""
    parts = []
    for name in _READ_AT_START:
        value = getattr(options, name)
        paths = value if isinstance(value, list) else [value] if value is not None else []
        parts += [_fixed(f"--{name.replace('_', '-')}", path) for path in paths]
    return parts


def _fixed(flag: str, path: Path) -> Reloadable:
    before = stamp(path)

    async def read_again() -> bool:
        if stamp(path) != before:
            raise NotReloaded(f"{path} has changed, which only a restart takes up")
        return False

    return Reloadable(flag, read_again)
