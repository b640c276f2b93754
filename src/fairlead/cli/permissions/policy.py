"""Reads the roles and bindings for a question, as far as the user may."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.client import ApiError, Client

Object = dict[str, Any]
_CLUSTER_WIDE = {"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings"}
_NAMESPACED = {"Role": "roles", "RoleBinding": "rolebindings"}


@dataclass(slots=True)
class Policy:
    """Roles and bindings by kind. `hidden` maps resources that may not be read to the error
    message."""

    namespace: str
    objects: dict[str, list[Object]] = field(default_factory=dict)
    hidden: dict[str, str] = field(default_factory=dict)

    @property
    def roles(self) -> dict[tuple[str, str], Object]:
        """Roles by (namespace, name); the namespace of a ClusterRole is empty."""
        roles = (*self.objects.get("ClusterRole", ()), *self.objects.get("Role", ()))
        return {_key(role): role for role in roles}

    @property
    def bindings(self) -> list[Object]:
        return [
            *self.objects.get("RoleBinding", ()),
            *self.objects.get("ClusterRoleBinding", ()),
        ]


def _key(value: Mapping[str, Any]) -> tuple[str, str]:
    metadata = value["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


async def read_policy(client: Client, dialect: Dialect, namespace: str) -> Policy:
    """Read cluster-wide roles and bindings and, if `namespace` is set, those of the namespace."""
    api = f"{dialect.group_name('rbac.authorization.@')}/v1"
    policy = Policy(namespace)

    async def read(kind: str, name: str, scope: str) -> None:
        resource = client.of(await client.discovery.of_kind(api, kind))
        try:
            policy.objects[kind] = (await resource.list(scope))["items"]
        except ApiError as error:
            if error.code not in (401, 403):
                raise
            policy.hidden[name] = error.message

    lists = [(kind, name, "") for kind, name in _CLUSTER_WIDE.items()]
    if namespace:
        lists += [(kind, name, namespace) for kind, name in _NAMESPACED.items()]
    await asyncio.gather(*(read(*arguments) for arguments in lists))
    return policy
