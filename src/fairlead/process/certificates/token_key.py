"""The key that signs service account tokens."""

from __future__ import annotations

import logging
from pathlib import Path

from fairlead.process.data_directory import (
    FileError,
    make_private_directory,
    read_private,
    write_private,
)

logger = logging.getLogger("fairlead")

_BEGIN, _END = b"-----BEGIN ", b" PRIVATE KEY-----"


def ensure_service_account_key(directory: Path) -> Path:
    """Return the file of the signing key below the data directory; creates it if it is missing.
    Raises FileError."""
    path = directory / "pki" / "service-account.key"
    if path.exists() or path.is_symlink():
        content = read_private(path)
        if _BEGIN not in content or not content.rstrip().endswith(_END):
            raise FileError(f"{path} is not a PEM private key")
        return path
    from fairlead.process.certificates.issue import new_key

    make_private_directory(path.parent)
    write_private(path, new_key())
    if (directory / "admin.kubeconfig").exists():
        logger.warning(
            "%s was missing and has been created: tokens that were issued before are invalid", path
        )
    return path
