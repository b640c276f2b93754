"""What a client needs to know of a server and of its user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fairlead.base.records import dataclass, field
from fairlead.wire.outgoing.client_config import ClientConfig


class AccessError(Exception):
    """There is no way to a server, or no credentials for it; the text says why."""


class InvalidConfiguration(AccessError):
    """The configuration files were read, and what they say cannot be used."""

    def __init__(self, *problems: str) -> None:
        said = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        super().__init__(f"invalid configuration: {said}")
        self.problems = problems


class CredentialsError(AccessError):
    """Credentials that have to be fetched could not be had."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What shows who we are: a header, a certificate with its key (PEM), both or neither."""

    authorization: str = ""
    certificate: bytes = b""
    key: bytes = b""


class Credentials(Protocol):
    """Where a user's proofs come from."""

    async def proof(self) -> Proof:
        """What to show with the next request; raises AccessError."""

    def refused(self, proof: Proof) -> bool:
        """A server answered 401 to it. Whether another one can be had."""


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom to act as; nobody else where there is no user."""

    user: str = ""
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


NOBODY_ELSE = Impersonation()


@dataclass(frozen=True, slots=True)
class Access:
    """One server as one user reaches it. Of `place` the address, the CA, the proxy and the like
    are meant, not its credentials. `timeout` is for each whole request."""

    place: ClientConfig
    credentials: Credentials
    namespace: str = "default"
    impersonation: Impersonation = NOBODY_ELSE
    compression: bool = True
    timeout: float | None = None
