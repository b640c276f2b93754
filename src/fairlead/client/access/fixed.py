"""Credentials that stand in the configuration itself, or in files that it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fairlead.base.file_stamps import stamp
from fairlead.client.access.model import AccessError, Proof
from fairlead.wire.outgoing.client_config import ClientConfig, ClientConfigError, check_pair


class FixedCredentials:
    """A certificate, a token, a token file or a password. `pair` are the files of the certificate
    and the key, if they are from files: they are read again when somebody has renewed them."""

    def __init__(self, config: ClientConfig, pair: Sequence[Path] = ()) -> None:
        self._config = config
        self._pair = pair
        self._stamps = [stamp(path) for path in pair]

    async def proof(self) -> Proof:
        self._renew()
        config = self._config
        try:
            return Proof(config.authorization(), config.certificate, config.key)
        except ClientConfigError as error:
            raise AccessError(str(error)) from None

    def refused(self, proof: Proof) -> bool:
        return False

    def _renew(self) -> None:
        """Files that do not go together are about to: until then what is known stays good."""
        stamps = [stamp(path) for path in self._pair]
        if stamps == self._stamps:
            return
        try:
            certificate, key = (path.read_bytes() for path in self._pair)
            check_pair(certificate, key)
        except (OSError, ClientConfigError):
            return
        self._config = replace(self._config, certificate=certificate, key=key)
        self._stamps = stamps
