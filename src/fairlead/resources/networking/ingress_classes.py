"""The behaviour of IngressClass: the controller that serves the ingresses of a class."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.names import dns_label
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.networking.shared import check_prefixed_path, check_typed_reference
from fairlead.resources.rules import immutable
from fairlead.resources.storage.shared import OrderedBehaviour, Step

LONGEST_CONTROLLER = 250
SCOPES = ("Cluster", "Namespace")


class IngressClassBehaviour(OrderedBehaviour):
    update_order = (Step.METADATA_CHANGE, Step.CHANGE, Step.METADATA, Step.RULES)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        controller = spec.get("controller", "")
        if len(controller) > LONGEST_CONTROLLER:
            causes.too_long("spec.controller", LONGEST_CONTROLLER)
        check_prefixed_path(controller, "spec.controller", causes)
        parameters = spec.get("parameters")
        if parameters is not None:
            check_typed_reference(parameters, "spec.parameters", causes)
            _check_scope(parameters, "spec.parameters", causes)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        controller, before = (each["spec"].get("controller", "") for each in (value, old))
        immutable(controller, before, "spec.controller", causes)


def _check_scope(parameters: dict[str, Any], path: str, causes: Causes) -> None:
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        causes.required(f"{path}.scope")
    elif scope not in SCOPES:
        causes.unsupported(f"{path}.scope", scope, SCOPES)
    elif scope == "Cluster":
        if namespace is not None:
            causes.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
    elif namespace is None:
        causes.required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    else:
        causes.invalid_each(f"{path}.namespace", namespace, dns_label(namespace))
