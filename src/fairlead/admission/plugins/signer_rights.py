"""Whether a user may act for a signer: by its name, or by the wildcard of its domain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes
from fairlead.base.dialect import Dialect

REQUESTS = "certificates/v1/certificatesigningrequests"

Allowed = Callable[[Attributes], Awaitable[bool]]


class SignerRights:
    def __init__(self, dialect: Dialect, allowed: Allowed) -> None:
        self._group = dialect.group_name("certificates.@")
        self._allowed = allowed

    async def has(self, user: User, verb: str, signer: str) -> bool:
        domain = signer.partition("/")[0]
        for name in (signer, f"{domain}/*"):
            asked = Attributes(
                user, verb, group=self._group, version="*", resource="signers", name=name
            )
            if await self._allowed(asked):
                return True
        return False
