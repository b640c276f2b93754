"""What of everything somebody may hear of."""

from __future__ import annotations

from fairlead.authentication.user import User
from fairlead.authorization.attributes import Attributes
from fairlead.authorization.chain import Authorizer
from fairlead.kinds.resources import Resource


class Rights:
    """Asks the authorizer what a list or watch of the namespace (or of the cluster, for what lies
    in none) would be asked. It keeps decisions as long as they hold, so nothing is kept here."""

    def __init__(self, authorizer: Authorizer, user: User, verb: str) -> None:
        self._authorizer = authorizer
        self._user = user
        self._verb = verb

    async def hold(self, resource: Resource, namespace: str) -> bool:
        version = resource.group_version.version
        asked = Attributes(
            self._user, self._verb, resource.group, version, resource.name, "", namespace
        )
        decision = self._authorizer.decide_cached(asked)
        if decision is None:
            decision = await self._authorizer.authorize(asked)
        return decision.allowed
