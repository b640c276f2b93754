"""Where the containers of simulated nodes get their environment, files and tokens from."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.address_index import AddressIndex
from fairlead.controllers.simulation.runtime.sources import Sources
from fairlead.controllers.simulation.simulated_nodes import NODES
from fairlead.operations.api import Api

_ACCOUNTS = "core/v1/serviceaccounts"
_TOKEN_SECONDS = 3600


class PodSources:
    """Makes the sources of pods from the stored objects."""

    def __init__(self, api: Api, index: AddressIndex) -> None:
        self._api = api
        self._index = index

    def of(self, pod: Object, current: Callable[[], Object] | None = None) -> Sources:
        return Sources(
            pod,
            self._api.lookup,
            self._index.linked_services,
            self._token,
            lambda: self._allocatable(pod["spec"].get("nodeName", "")),
            current,
        )

    def _allocatable(self, node: str) -> dict[str, str]:
        value = self._api.lookup(NODES, "", node) or {}
        return (value.get("status") or {}).get("allocatable") or {}

    def _token(self, pod: Object, projection: Object) -> str:
        """A token of the pod's account, bound to the pod; empty if there is no such account."""
        namespace = pod["metadata"]["namespace"]
        name = pod["spec"].get("serviceAccountName") or "default"
        account = self._api.lookup(_ACCOUNTS, namespace, name)
        if account is None:
            return ""
        issuer = self._api.authentication.issuer
        audiences = [projection["audience"]] if projection.get("audience") else issuer.audiences
        lifetime = projection.get("expirationSeconds") or _TOKEN_SECONDS
        gates = self._api.gates
        token_id = str(uuid4()) if gates["ServiceAccountTokenJTI"] else ""
        node = None
        if gates["ServiceAccountTokenPodNodeInfo"]:
            node = self._api.lookup(NODES, "", pod["spec"].get("nodeName", ""))
        return issuer.bound(account, lifetime, audiences, pod=pod, node=node, token_id=token_id)
