"""Node: authorizes node agents; for some kinds only the objects that their own pods need."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization import pod_references as kinds
from fairlead.auth.authorization.attributes import (
    ALLOWED,
    NO_OPINION,
    Attributes,
    Decision,
    UserRules,
)
from fairlead.auth.authorization.bootstrap import bootstrap_rules
from fairlead.auth.authorization.chain import ImmediateMode
from fairlead.auth.authorization.node_graph import NodeGraph
from fairlead.auth.authorization.rules import CompiledRules, question
from fairlead.base.dialect import Dialect
from fairlead.resources.gates import Gates
from fairlead.storage.selection import Requirement

NODES_GROUP = "system:nodes"
NODE_PREFIX = "system:node:"

_OWN_VERBS = ("get", "create", "update", "patch", "delete")
_YES = Decision(allowed=True, lasting=False)


def node_name(user: User) -> str | None:
    """The node name of a node agent's user; None for other users."""
    if user.name.startswith(NODE_PREFIX) and NODES_GROUP in user.groups:
        return user.name[len(NODE_PREFIX) :]
    return None


def _denied(reason: str) -> Decision:
    return Decision(reason=reason, lasting=False)


def _selects_node(node: str, attributes: Attributes) -> bool:
    """Whether the field selector restricts the request to objects of the node."""
    return Requirement("spec.nodeName", "in", frozenset([node])) in attributes.fields


class Node(ImmediateMode):
    """Decisions based on the graph are not cached: a lookup costs no more, and pods change
    often."""

    def __init__(self, dialect: Dialect, graph: NodeGraph, gates: Gates | None = None) -> None:
        self._dialect = dialect
        self._gates = gates = gates or Gates()
        self._graph = graph
        self._lease_namespace = dialect.node_lease_namespace
        storage = dialect.group_name("storage.@")
        self._special: dict[tuple[str, str], Callable[[str, Attributes], Decision]] = {
            ("", kinds.SECRETS): self._read,
            ("", kinds.CONFIG_MAPS): self._read,
            ("", kinds.CLAIMS): self._claim,
            ("", kinds.VOLUMES): self._get,
            (storage, kinds.ATTACHMENTS): self._get,
            ("", kinds.ACCOUNTS): self._create_token,
            (dialect.group_name("coordination.@"), "leases"): self._lease,
            (storage, "csinodes"): self._csi_node,
        }
        if gates["KubeletServiceAccountTokenForCredentialProviders"]:
            self._special["", kinds.ACCOUNTS] = self._account
        if gates["DynamicResourceAllocation"]:
            devices = dialect.group_name("resource.@")
            self._special[devices, kinds.DEVICE_CLAIMS] = self._get
            self._special[devices, kinds.SLICES] = self._slice
        if gates["AuthorizeNodeWithSelectors"]:
            self._special["", "nodes"] = self._node
            self._special["", "pods"] = self._pod

    @cached_property
    def _rules(self) -> CompiledRules:
        """What all nodes may do. Most servers have no node."""
        return CompiledRules(bootstrap_rules(self._dialect, "system:node", self._gates))

    def decide(self, attributes: Attributes) -> Decision:
        node = node_name(attributes.user)
        if node is None:
            return NO_OPINION
        if not node:
            return Decision(reason=f'unknown node for user "{attributes.user.name}"')
        if attributes.is_resource:
            special = self._special.get((attributes.group, attributes.resource))
            if special is not None:
                return special(node, attributes)
        return ALLOWED if self._rules.allow(question(attributes)) else NO_OPINION

    def _claim(self, node: str, attributes: Attributes) -> Decision:
        if attributes.subresource != "status":
            return self._get(node, attributes)
        if attributes.verb not in ("update", "patch"):
            return _denied("can only get/update/patch this type")
        return self._related(node, attributes)

    def _get(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb != "get":
            return _denied("can only get individual resources of this type")
        if attributes.subresource:
            return _denied("cannot get subresource")
        return self._related(node, attributes)

    def _read(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb not in ("get", "list", "watch"):
            return _denied("can only read resources of this type")
        if attributes.subresource:
            return _denied("cannot read subresource")
        if not attributes.namespace:
            return _denied("can only read namespaced object of this type")
        return self._related(node, attributes)

    def _account(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb == "get" and not attributes.subresource:
            return self._read(node, attributes)
        return self._create_token(node, attributes)

    def _create_token(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb != "create" or not attributes.name:
            return _denied("can only create tokens for individual service accounts")
        if attributes.subresource != "token":
            return _denied("can only create token subresource of serviceaccount")
        return self._related(node, attributes)

    def _slice(self, node: str, attributes: Attributes) -> Decision:
        if attributes.subresource:
            return _denied("cannot authorize ResourceSlice subresources")
        match attributes.verb:
            case "create":  # admission checks the node
                return _YES
            case "get" | "update" | "patch" | "delete":
                return self._related(node, attributes)
            case "watch" | "list" | "deletecollection":
                if _selects_node(node, attributes):
                    return _YES
                return _denied(
                    "can only list/watch/deletecollection resourceslices with nodeName field"
                    " selector"
                )
        return _denied(
            "only the following verbs are allowed for a ResourceSlice: get, watch, list, create,"
            " update, patch, delete, deletecollection"
        )

    def _node(self, node: str, attributes: Attributes) -> Decision:
        """A node reads its own Node, also before that exists. Admission restricts its writes."""
        match attributes.subresource, attributes.verb:
            case ("", "create" | "update" | "patch") | ("status", "update" | "patch"):
                return _YES
            case "", "get" | "list" | "watch":
                if attributes.name == node:
                    return _YES
                others = f"'{attributes.name}'" if attributes.name else "all nodes"
                return _denied(f"node '{node}' cannot read {others}, only its own Node object")
        return _denied("")

    def _pod(self, node: str, attributes: Attributes) -> Decision:
        """A node reads the pods that are bound to it. Admission restricts its writes."""
        match attributes.subresource, attributes.verb:
            case "", "list" | "watch":
                if _selects_node(node, attributes):
                    return _YES
                if not attributes.name:
                    return _denied("can only list/watch pods with spec.nodeName field selector")
                return self._bound(node, attributes)
            case "", "get":
                return self._bound(node, attributes)
            case (
                ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create")
            ):
                return _YES
        return _denied("")

    def _bound(self, node: str, attributes: Attributes) -> Decision:
        if not attributes.name:
            return _denied("No Object name found")
        if self._graph.has_pod(node, attributes.namespace, attributes.name):
            return _YES
        return _denied(f"no relationship found between node '{node}' and this object")

    def _related(self, node: str, attributes: Attributes) -> Decision:
        if not attributes.name:
            return _denied("No Object name found")
        if self._graph.needs(node, attributes.resource, attributes.namespace, attributes.name):
            return _YES
        return _denied(f"no relationship found between node '{node}' and this object")

    def _lease(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb not in _OWN_VERBS:
            return _denied("can only get, create, update, patch, or delete a node lease")
        if attributes.namespace != self._lease_namespace:
            return _denied(
                f'can only access leases in the "{self._lease_namespace}" system namespace'
            )
        return self._own_object(node, attributes, "node lease")

    def _csi_node(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb not in _OWN_VERBS:
            return _denied("can only get, create, update, patch, or delete a CSINode")
        if attributes.subresource:
            return _denied("cannot authorize CSINode subresources")
        return self._own_object(node, attributes, "CSINode")

    def _own_object(self, node: str, attributes: Attributes, resource_text: str) -> Decision:
        """Allow only objects with the node's name. A create has no name here; admission checks
        it."""
        if attributes.verb != "create" and attributes.name != node:
            return _denied(
                f"can only access {resource_text} with the same name as the requesting node"
            )
        return _YES

    def rules_for(self, user: User, namespace: str) -> UserRules:
        if node_name(user) is None:
            return UserRules()
        error = "node authorizer does not support user rule resolution"
        return UserRules(incomplete=True, errors=[error])
