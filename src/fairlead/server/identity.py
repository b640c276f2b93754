"""The server's identity as an issuer: the key that signs service account tokens."""

from __future__ import annotations

from pathlib import Path

from fairlead.server.certificates import write_private


def ensure_service_account_key(directory: Path) -> Path:
    """The file of the signing key below the data directory, made if it is missing. ECDSA,
    because such a key is made and signs in a moment. Raises OSError."""
    path = directory / "pki" / "service-account.key"
    if path.exists():
        return path
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    key = ec.generate_private_key(ec.SECP256R1())
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return path
