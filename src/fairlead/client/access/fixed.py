"""Credentials that stand in the configuration itself."""

from __future__ import annotations

from fairlead.client.access.model import AccessError, Proof
from fairlead.outgoing.client_config import ClientConfig, ClientConfigError


class FixedCredentials:
    """A certificate, a token, a token file that is read again as it is renewed, or a password."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config

    async def proof(self) -> Proof:
        config = self._config
        try:
            return Proof(config.authorization(), config.certificate, config.key)
        except ClientConfigError as error:
            raise AccessError(str(error)) from None

    def refused(self, proof: Proof) -> bool:
        return False
