"""What an authorizer is asked: may this user do this?"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.auth.authentication.user import User


class Attributes(NamedTuple):
    """One question. A tuple, because one is made for every request.

    `name` is the object's where the request names one; a list or watch with the field selector
    `metadata.name=x` names one too. `namespace` is empty for cluster-scoped requests; a request
    for a Namespace is in that namespace. Requests that are not for a resource have a `path`.
    """

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    is_resource: bool = True

    @property
    def full_resource(self) -> str:
        """The resource as roles write it, `pods/log`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def of_path(user: User, verb: str, path: str) -> Attributes:
    """A question about a path beside the API."""
    return Attributes(user, verb, path=path, is_resource=False)
