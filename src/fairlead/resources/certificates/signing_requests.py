"""The behaviour of CertificateSigningRequest: the spec is immutable; it is approved through
`approval` and signed through `status`.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable
from datetime import timedelta

from fairlead.base.release import Reworded
from fairlead.codec.types.names import dns_label, dns_subdomain
from fairlead.resources.behaviour import Object, keep
from fairlead.resources.causes import Causes, GoValue, quote
from fairlead.resources.certificates.conditions import (
    check_condition_change,
    check_conditions,
    conditions_of,
    keep_approval,
    stamp,
)
from fairlead.resources.certificates.pem import certificate_error, request_error
from fairlead.resources.columns.cell_text import NONE, duration_text, field, items
from fairlead.resources.columns.model import AGE, NAME, table, text
from fairlead.resources.context import Context
from fairlead.resources.storage.shared import OrderedBehaviour, Step

MIN_LIFETIME = 600
USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)


def any_name(text: str) -> list[str]:
    return []


class CertificateSigningRequestBehaviour(OrderedBehaviour):
    name_rule = staticmethod(any_name)
    update_order = (Step.METADATA, Step.RULES, Step.CHANGE, Step.METADATA_CHANGE)

    def prepare_create(self, value: Object, context: Context) -> None:
        super().prepare_create(value, context)
        _record_requester(value["spec"], context)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        keep(value, old, "spec")
        keep(value, old, "status")

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        keep(value, old, "spec")
        if subresource == "status":
            keep_approval(value, old)
            stamp(value, old)
            return
        stamp(value, old)
        conditions = conditions_of(value)
        status = {name: item for name, item in old["status"].items() if name != "conditions"}
        value["status"] = {"conditions": conditions, **status} if conditions else status

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        _check_spec(value["spec"], context.dialect.signer_legacy, causes)
        check_conditions(value, causes)
        _check_certificate(value, causes)

    def check_again(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        _check_spec(value["spec"], context.dialect.signer_legacy, causes)
        check_conditions(value, causes)
        if _certificate(value) != _certificate(old):
            _check_certificate(value, causes)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_condition_change(value, old, context.subresource == "approval", causes)
        if _certificate(value) == _certificate(old):
            return
        if context.subresource != "status":
            causes.forbidden("status.certificate", "updates may not set certificate content")
        elif _certificate(old):
            detail = "updates may not modify existing certificate content"
            causes.forbidden("status.certificate", detail)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        self.check_update(value, old, causes, context)


def _record_requester(spec: Object, context: Context) -> None:
    for name in ("username", "uid", "groups", "extra"):
        spec.pop(name, None)
    user = context.user
    requester: Object = {"username": context.user_name}
    if user is not None:
        extra = {key: list(values) for key, values in user.extra.items()}
        requester = {
            "username": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": extra,
        }
    spec.update({name: item for name, item in requester.items() if item})


def _certificate(value: Object) -> str:
    certificate: str = (value.get("status") or {}).get("certificate") or ""
    return certificate


def _check_certificate(value: Object, causes: Causes) -> None:
    certificate = _certificate(value)
    error = certificate_error(b64decode(certificate)) if certificate else ""
    if error:
        causes.invalid("status.certificate", "<certificate data>", error)


def _check_spec(spec: Object, legacy_signer: str, causes: Causes) -> None:
    error = request_error(b64decode(spec["request"] or ""))
    if error:
        causes.invalid("spec.request", _format_request(spec["request"]), error)
    usages = spec.get("usages") or []
    if not usages:
        causes.required("spec.usages", Reworded("usages must be provided", ""))
    for index, usage in enumerate(usages):
        if usage not in USAGES:
            causes.unsupported(f"spec.usages[{index}]", usage, USAGES)
    for index, usage in enumerate(usages):
        if usage in usages[:index]:
            causes.duplicate(f"spec.usages[{index}]", usage)
    if spec["signerName"] == legacy_signer:
        detail = "the legacy signerName is not allowed via this API version"
        causes.invalid("spec.signerName", legacy_signer, detail)
    else:
        check_signer_name(spec["signerName"], "spec.signerName", causes)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < MIN_LIFETIME:
        detail = f"may not specify a duration less than {MIN_LIFETIME} seconds (10 minutes)"
        causes.invalid("spec.expirationSeconds", seconds, detail)


def _format_request(request: str | None) -> GoValue:
    if request is None:
        return GoValue("[]byte(nil)")
    return GoValue("[]byte{" + ", ".join(f"{byte:#x}" for byte in b64decode(request)) + "}")


# Names of signers: a domain and a path, such as `example.com/serving`

MAX_DOMAIN_LENGTH = 253
MAX_NAME_LENGTH = MAX_DOMAIN_LENGTH + 1 + 253 + 1 + 63


def check_signer_name(name: str, path: str, causes: Causes) -> None:
    if not name:
        causes.required(path, Reworded("signerName must be provided", ""))
        return
    if name.count("/") != 1:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        causes.invalid(path, name, detail)
        return
    domain, _, rest = name.partition("/")
    if len(domain) > MAX_DOMAIN_LENGTH:
        causes.too_long(path, MAX_DOMAIN_LENGTH)
    causes.invalid_each(path, domain, _label_errors(domain, dns_label))
    if "." not in domain:
        detail = "should be a domain with at least two segments separated by dots"
        causes.invalid(path, domain, detail)
    causes.invalid_each(path, rest, _label_errors(rest, dns_subdomain))
    if len(name) > MAX_NAME_LENGTH:
        causes.too_long(path, MAX_NAME_LENGTH)


def _label_errors(text: str, rule: Callable[[str], list[str]]) -> Iterable[str]:
    """The errors of the first invalid label; further labels would repeat them."""
    for label in text.split("."):
        errors = rule(label)
        if errors:
            return [f"validating label {quote(label)}: {error}" for error in errors]
    return []


# Columns of certificate signing requests


def _requested(request: Object) -> str:
    seconds = field(request, "spec.expirationSeconds")
    return NONE if seconds is None else duration_text(timedelta(seconds=seconds))


def _condition(request: Object) -> str:
    """The decision, whether signing failed, and whether a certificate was issued."""
    states = {condition.get("type") for condition in items(request, "status.conditions")}
    words = [next((word for word in ("Denied", "Approved") if word in states), "Pending")]
    if "Failed" in states:
        words.append("Failed")
    if field(request, "status.certificate"):
        words.append("Issued")
    return ",".join(words)


PRINTERS = {
    "certificates/v1/certificatesigningrequests": table(
        NAME,
        AGE,
        text("SignerName", "spec.signerName", "Signer that is asked", missing=NONE),
        text("Requestor", "spec.username", "User that asks"),
        text("RequestedDuration", _requested, "How long the certificate should be valid"),
        text("Condition", _condition, "What became of the request"),
    ),
}
