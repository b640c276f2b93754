"""The data that a client needs about a server and a user."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from fairlead.wire.outgoing.client_config import ClientConfig


class AccessError(Exception):
    """There is no server address or there are no credentials; the message says why."""


class InvalidConfiguration(AccessError):
    """The configuration files are readable, but their content is unusable."""

    def __init__(self, *problems: str) -> None:
        message = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        super().__init__(f"invalid configuration: {message}")
        self.problems = problems


class CredentialsError(AccessError):
    """Fetching credentials failed."""


class Proof(NamedTuple):
    """The credentials of a request: an Authorization header, a certificate with key (PEM), both or
    neither."""

    authorization: str = ""
    certificate: bytes = b""
    key: bytes = b""


class Credentials(Protocol):
    """The source of a user's credentials."""

    async def proof(self) -> Proof:
        """The credentials for the next request; raises AccessError."""

    def refused(self, proof: Proof) -> bool:
        """The server responded 401 to these credentials. Returns whether others can be fetched."""


class Impersonation(NamedTuple):
    """The user to impersonate; none if `user` is empty."""

    user: str = ""
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = MappingProxyType({})


NOBODY_ELSE = Impersonation()


class Access(NamedTuple):
    """A server as a user reaches it. Only address, CA and proxy settings of `place` apply, not its
    credentials. `timeout` applies to each whole request."""

    place: ClientConfig
    credentials: Credentials
    namespace: str = "default"
    impersonation: Impersonation = NOBODY_ELSE
    compression: bool = True
    timeout: float | None = None
