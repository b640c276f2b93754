"""The behaviour of ResourceClaim, ResourceClaimTemplate and DeviceClass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.codec.types.model import Object
from fairlead.codec.types.names import qualified_name
from fairlead.resources.behaviour import Behaviour, Permission
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.volumes.claims import FOREIGN_METADATA
from fairlead.resources.internal_types import internal_value
from fairlead.resources.metadata import check_annotations, check_labels, check_metadata
from fairlead.resources.resource.claim_status import check_claim_status, device_id, results_of
from fairlead.resources.resource.requests import (
    MAX_CONFIG,
    ClaimRules,
    SelectorRules,
    check_config,
    check_items,
)
from fairlead.resources.resource.status_permissions import status_permissions
from fairlead.resources.rules import IMMUTABLE
from fairlead.resources.storage.shared import keep_metadata

ADMIN_LABEL = "resource.@/admin-access"
NAMESPACES = "core/v1/namespaces"


def exact_requests(spec: Object) -> Iterator[Object]:
    """All requests of a claim for devices of a class, also the alternatives."""
    for request in spec["devices"]["requests"] or ():
        if request.get("exactly") is not None:
            yield request["exactly"]
        yield from request.get("firstAvailable") or ()


def _fill_defaults(spec: Object) -> None:
    for request in exact_requests(spec):
        if not request.get("allocationMode"):
            request["allocationMode"] = "ExactCount"
        if request["allocationMode"] == "ExactCount" and not request.get("count"):
            request["count"] = 1


def _check_admin_access(spec: Object, causes: Causes, context: Context) -> None:
    for index, request in enumerate(spec["devices"]["requests"] or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            path = f"spec.devices.requests[{index}].adminAccess"
            _check_admin_namespace(path, causes, context)
            return


def _check_admin_namespace(path: str, causes: Causes, context: Context) -> None:
    namespace = context.lookup(NAMESPACES, "", context.namespace) or {"metadata": {}}
    key = context.dialect.label(ADMIN_LABEL)
    if (namespace["metadata"].get("labels") or {}).get(key) != "true":
        detail = f"requires the `{key}: true` label on the containing namespace"
        causes.forbidden(path, f"admin access to devices {detail}")


class ResourceClaimBehaviour(Behaviour):
    def fill_defaults(self, value: Object, context: Context) -> None:
        _fill_defaults(value["spec"])

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        super().prepare_subresource_update(subresource, value, old, context)
        keep_metadata(value, old)
        status = value.get("status") or {}
        before = {device_id(result) for result in results_of(old.get("status") or {})}
        released = before - {device_id(result) for result in results_of(status)}
        if status.get("devices"):
            kept = [device for device in status["devices"] if device_id(device) not in released]
            status["devices"] = kept
            if not kept:
                del status["devices"]

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        _check_admin_access(value["spec"], causes, context)
        super().check_create(value, causes, context)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        ClaimRules(causes, self.resource.release).check(value["spec"], "spec")

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata(value["metadata"], self.resource.namespaced, self.name_rule, causes)
        self.check_metadata_change(value, old, causes)
        if value["spec"] != old["spec"]:
            shown = internal_value(self.resource.stored_struct.fields["spec"].type, value["spec"])
            causes.invalid("spec", shown, IMMUTABLE)

    def permissions(
        self, subresource: str, verb: str, value: Object, old: Object, context: Context
    ) -> Sequence[Permission]:
        if not (subresource and context.gates["DRAResourceClaimGranularStatusAuthorization"]):
            return ()
        return list(status_permissions(verb, value, old, context.user, context.dialect))

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        results, before = (results_of(version.get("status") or {}) for version in (value, old))
        if not any(result.get("adminAccess") for result in before):
            for index, result in enumerate(results):
                if result.get("adminAccess"):
                    path = f"status.allocation.devices.results[{index}].adminAccess"
                    _check_admin_namespace(path, causes, context)
                    break
        for path, detail in context.lacking:
            causes.forbidden(path, detail)
        self.check_metadata_change(value, old, causes)
        status = self.resource.stored_struct.fields["status"].type
        check_claim_status(value, old, causes, status)


class ResourceClaimTemplateBehaviour(Behaviour):
    def fill_defaults(self, value: Object, context: Context) -> None:
        _fill_defaults(value["spec"]["spec"])

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        _check_admin_access(value["spec"]["spec"], causes, context)
        super().check_create(value, causes, context)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        metadata, path = value["spec"]["metadata"], "spec.metadata"
        check_annotations(metadata.get("annotations"), f"{path}.annotations", causes)
        check_labels(metadata.get("labels"), f"{path}.labels", causes)
        for name, shown in FOREIGN_METADATA.items():
            if metadata.get(name):
                causes.forbidden(f"{path}.{shown}", "cannot be set")
        ClaimRules(causes, self.resource.release).check(value["spec"]["spec"], "spec.spec")

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata(value["metadata"], self.resource.namespaced, self.name_rule, causes)
        self.check(value, causes, context)
        self.check_metadata_change(value, old, causes)
        if value["spec"] != old["spec"]:
            shown = internal_value(self.resource.stored_struct.fields["spec"].type, value["spec"])
            causes.invalid("spec", shown, IMMUTABLE)


class DeviceClassBehaviour(Behaviour):
    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        rules = SelectorRules(causes, self.resource.release)
        rules.check(spec.get("selectors"), "spec.selectors")
        check_items(
            spec.get("config"),
            MAX_CONFIG,
            lambda config, path: check_config(config, path, causes),
            "spec.config",
            causes,
        )
        name = spec.get("extendedResourceName")
        if name is not None and not _is_extended(name, context):
            detail = "must be a valid extended resource name"
            causes.invalid("spec.extendedResourceName", name, detail)


def _is_extended(name: str, context: Context) -> bool:
    """Whether a name is that of an extended resource, which has another domain."""
    domain, slash, _ = name.partition("/")
    own = context.dialect.label_domain
    is_foreign = bool(slash) and domain != own and not domain.endswith(f".{own}")
    return is_foreign and not name.startswith("requests.") and not qualified_name(name)
