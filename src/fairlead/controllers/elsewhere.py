"""What controllers that concern every resource ask about those that other servers serve."""

from __future__ import annotations

from typing import Protocol

from fairlead.auth.authentication.user import User
from fairlead.controllers.namespace_remains import Remains

API_SERVICES = "apiregistration/v1/apiservices"


class Elsewhere(Protocol):
    """The resources that are served by other servers behind this one."""

    def serves(self, group: str, version: str) -> bool:
        """Whether a version of a group is not this server's."""

    async def empty(self, user: User, namespace: str, remains: Remains) -> None:
        """Delete what lies in a namespace there, as a user, and note what is left and what went
        wrong."""


class NothingElsewhere:
    """All resources are this server's."""

    def serves(self, group: str, version: str) -> bool:
        return False

    async def empty(self, user: User, namespace: str, remains: Remains) -> None:
        pass
