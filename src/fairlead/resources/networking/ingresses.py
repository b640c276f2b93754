"""The behaviour of Ingress, which maps hosts and paths to backends, and of IngressClass, which
names the controller that serves the ingresses of a class."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.names import dns_1035_label, dns_label, dns_subdomain
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, quote
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import parse_address
from fairlead.resources.go_values import given_list, go_list
from fairlead.resources.metadata import NameRule, check_metadata_update
from fairlead.resources.networking.shared import (
    NOT_AN_IP,
    NetworkingBehaviour,
    check_balancer_status,
    check_prefixed_path,
    check_typed_reference,
    host_errors,
)
from fairlead.resources.rules import immutable, port_name, port_number
from fairlead.resources.storage.shared import OrderedBehaviour, Step

PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
NOT_IN_A_PATH = ("//", "/./", "/../", "%2f", "%2F")
NOT_AT_THE_END = ("/..", "/.")


class IngressBehaviour(NetworkingBehaviour):
    update_order = (Step.METADATA_CHANGE, Step.METADATA, Step.RULES)

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        super().check_create(value, causes, context)
        key = context.dialect.label("@/ingress.class")
        annotation = (value["metadata"].get("annotations") or {}).get(key)
        name = value["spec"].get("ingressClassName")
        if annotation is None or name is None:
            return
        if not context.gates["IngressClassAnnotationBesideField"]:
            detail = "can not be set when the class field is also set"
            causes.invalid(f"annotations.{key}", annotation, detail)
        elif annotation != name:
            detail = "must match `ingressClassName` when both are specified"
            causes.invalid(f"annotations.{key}", annotation, detail)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        self._check_spec(value, causes, context, bad_secret_names=False)

    def check_again(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        bad_secret_names = _has_bad_secret_name(old["spec"])
        self._check_spec(value, causes, context, bad_secret_names=bad_secret_names)

    def _check_spec(
        self, value: Object, causes: Causes, context: Context, *, bad_secret_names: bool
    ) -> None:
        relaxed = context.gates["RelaxedServiceNameValidation"]
        service_name = dns_label if relaxed else dns_1035_label
        _check_spec(value["spec"], causes, service_name, bad_secret_names)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if old is not None or not context.gates["IngressClassAnnotationBesideField"]:
            return
        key = context.dialect.label("@/ingress.class")
        is_set = key in (value["metadata"].get("annotations") or {})
        if is_set and value["spec"].get("ingressClassName") is None:
            use = "please use 'spec.ingressClassName' instead"
            context.warn(f"annotation {quote(key)} is deprecated, {use}")

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        new, before = (version["status"]["loadBalancer"] for version in (value, old))
        check_balancer_status(new, before, "status.loadBalancer", causes, context)


def _check_spec(
    spec: dict[str, Any], causes: Causes, service_name: NameRule, bad_secret_names: bool
) -> None:
    backend, rules = spec.get("defaultBackend"), given_list(spec, "rules")
    if not rules and backend is None:
        detail = "either `defaultBackend` or `rules` must be specified"
        causes.invalid("spec", go_list("networking.IngressRule", rules), detail)
    if backend is not None:
        _check_backend(backend, "spec.defaultBackend", causes, service_name)
    for index, rule in enumerate(rules or ()):
        _check_rule(rule, f"spec.rules[{index}]", causes, service_name)
    for index, tls in enumerate(spec.get("tls") or ()):
        _check_tls(tls, f"spec.tls[{index}]", causes, bad_secret_names)
    name = spec.get("ingressClassName")
    if name is not None:
        causes.invalid_each("spec.ingressClassName", name, dns_subdomain(name))


def _check_rule(rule: dict[str, Any], path: str, causes: Causes, service_name: NameRule) -> None:
    host = rule.get("host", "")
    if host:
        if parse_address(host) is not None:
            causes.invalid(f"{path}.host", host, NOT_AN_IP)
        causes.invalid_each(f"{path}.host", host, host_errors(host))
    http = rule.get("http")
    if http is None:
        return
    paths = http["paths"] or []
    if not paths:
        causes.required(f"{path}.http.paths")
    for index, item in enumerate(paths):
        _check_path(item, f"{path}.http.paths[{index}]", causes, service_name)


def _check_path(item: dict[str, Any], path: str, causes: Causes, service_name: NameRule) -> None:
    kind, text = item.get("pathType"), item.get("path", "")
    if kind is None:
        causes.required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in PATH_TYPES:
        causes.unsupported(f"{path}.pathType", kind, PATH_TYPES)
    else:
        exact = kind != "ImplementationSpecific"
        causes.invalid_each(f"{path}.path", text, _path_errors(text, exact))
    _check_backend(item["backend"], f"{path}.backend", causes, service_name)


def _path_errors(text: str, exact: bool) -> list[str]:
    if not text and not exact:
        return []
    errors = [] if text.startswith("/") else ["must be an absolute path"]
    if exact:
        errors += [f"must not contain '{part}'" for part in NOT_IN_A_PATH if part in text]
        errors += [f"cannot end with '{part}'" for part in NOT_AT_THE_END if text.endswith(part)]
    return errors


def _check_backend(
    backend: dict[str, Any], path: str, causes: Causes, service_name: NameRule
) -> None:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        causes.invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        check_typed_reference(resource, f"{path}.resource", causes)
    elif service is not None:
        _check_service(service, path, causes, service_name)
    else:
        causes.invalid(path, "", "resource or service backend is required")


def _check_service(
    service: dict[str, Any], path: str, causes: Causes, service_name: NameRule
) -> None:
    if not service["name"]:
        causes.required(f"{path}.service.name")
    else:
        causes.invalid_each(f"{path}.service.name", service["name"], service_name(service["name"]))
    name, number = service["port"].get("name", ""), service["port"].get("number", 0)
    if name and number:
        causes.invalid(path, "", "cannot set both port name & port number")
    elif name:
        port_name(name, f"{path}.service.port.name", causes)
    elif number:
        port_number(number, f"{path}.service.port.number", causes)
    else:
        causes.required(path, "port name or number is required")


def _check_tls(tls: dict[str, Any], path: str, causes: Causes, bad_secret_names: bool) -> None:
    for index, host in enumerate(tls.get("hosts") or ()):
        causes.invalid_each(f"{path}.hosts[{index}]", host, host_errors(host))
    name = tls.get("secretName", "")
    if name and not bad_secret_names:
        causes.invalid_each(f"{path}.secretName", name, dns_subdomain(name))


def _has_bad_secret_name(spec: dict[str, Any]) -> bool:
    names = (tls.get("secretName", "") for tls in spec.get("tls") or ())
    return any(name and dns_subdomain(name) for name in names)


MAX_CONTROLLER_LENGTH = 250
SCOPES = ("Cluster", "Namespace")


class IngressClassBehaviour(OrderedBehaviour):
    update_order = (Step.METADATA_CHANGE, Step.CHANGE, Step.METADATA, Step.RULES)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        controller = spec.get("controller", "")
        if len(controller) > MAX_CONTROLLER_LENGTH:
            causes.too_long("spec.controller", MAX_CONTROLLER_LENGTH)
        check_prefixed_path(controller, "spec.controller", causes)
        parameters = spec.get("parameters")
        if parameters is not None:
            check_typed_reference(parameters, "spec.parameters", causes)
            _check_scope(parameters, "spec.parameters", causes)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        controller, before = (version["spec"].get("controller", "") for version in (value, old))
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
