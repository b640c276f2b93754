"""The keys of `--encryption-provider-config`, read once per process."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.resources.registry import Resources

if TYPE_CHECKING:
    from fairlead.storage.encryption.keyring import Sealing

logger = logging.getLogger("fairlead")

_READ: dict[Path, Sealing] = {}


def sealing_of(options: argparse.Namespace, resources: Resources) -> Sealing | None:
    """Return the encryption of stored values; None if it is off. Raises EncryptionError."""
    path: Path | None = options.encryption_provider_config
    if path is None:
        return None
    if path not in _READ:
        from fairlead.storage.encryption.configuration import FLAG, read_encryption

        _READ[path] = read_encryption(path, resources.dialect)
        for name in _strangers(_READ[path], resources):
            logger.warning("%s: %s: %s is not a stored resource", FLAG, path, name)
    return _READ[path]


def _strangers(sealing: Sealing, resources: Resources) -> list[str]:
    """Return configured names that match no resource and cannot match a custom one: a typo would
    leave values unencrypted."""
    known = {resources.stored_as(one) for one in resources.stored()}
    own_groups = {name.partition("/")[0] for name in known}
    return [
        name
        for name in sealing.resources
        if name not in known and (name.partition("/")[0] in own_groups or "." not in name)
    ]
