"""Handlers of resources and subresources that are not plain storage. Their modules are loaded when
they are first requested."""

from __future__ import annotations

from importlib import import_module

from fairlead.api.answers import Answer, Verb
from fairlead.api.request import Request
from fairlead.base.deferred import Outcome
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation

_CREATE = ("create",)
_STREAMED = ("create", "get")
_PROXIED = ("create", "delete", "get", "patch", "update", "")  # OPTIONS has no verb
# Resource, handler and verbs.
_TABLE: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("authentication/v1/selfsubjectreviews", "actions.create_self_review", _CREATE),
    ("authentication/v1/tokenreviews", "actions.create_token_review", _CREATE),
    ("authentication/v1beta1/tokenreviews", "actions.create_token_review", _CREATE),
    ("authorization/v1/localsubjectaccessreviews", "actions.create_access_review", _CREATE),
    ("authorization/v1/selfsubjectaccessreviews", "actions.create_access_review", _CREATE),
    ("authorization/v1/selfsubjectrulesreviews", "actions.create_rules_review", _CREATE),
    ("authorization/v1/subjectaccessreviews", "actions.create_access_review", _CREATE),
    ("core/v1/bindings", "actions.create_binding", _CREATE),
    ("core/v1/componentstatuses", "component_statuses.get_component", ("get",)),
    ("core/v1/componentstatuses", "component_statuses.list_components", ("list",)),
    ("core/v1/nodes/proxy", "proxies.proxy_to_node", _PROXIED),
    ("core/v1/pods/attach", "streams.stream", _STREAMED),
    ("core/v1/pods/binding", "actions.create_binding", _CREATE),
    ("core/v1/pods/eviction", "actions.create_eviction", _CREATE),
    ("core/v1/pods/exec", "streams.stream", _STREAMED),
    ("core/v1/pods/log", "logs.read_log", ("get",)),
    ("core/v1/pods/portforward", "streams.forward_port", _STREAMED),
    ("core/v1/pods/proxy", "proxies.proxy_to_pod", _PROXIED),
    ("core/v1/serviceaccounts/token", "actions.create_token", _CREATE),
    ("core/v1/services/proxy", "proxies.proxy_to_service", _PROXIED),
    ("metrics/v1beta1/nodes", "resource_metrics.get_node_metrics", ("get",)),
    ("metrics/v1beta1/nodes", "resource_metrics.list_node_metrics", ("list",)),
    ("metrics/v1beta1/pods", "resource_metrics.get_pod_metrics", ("get",)),
    ("metrics/v1beta1/pods", "resource_metrics.list_pod_metrics", ("list",)),
)


def _lazy_handler(path: str) -> Verb:
    module, name = path.split(".")

    def answer(api: Api, request: Request, operation: Operation) -> Outcome[Answer]:
        verb: Verb = getattr(import_module(f"{__name__}.{module}"), name)
        return verb(api, request, operation)

    return answer


HANDLERS: dict[tuple[str, str], Verb] = {
    (resource, verb): _lazy_handler(path) for resource, path, verbs in _TABLE for verb in verbs
}
