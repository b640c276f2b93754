"""The behaviour of Pod, and the rules of its status."""

from __future__ import annotations

from typing import Final

from fairlead.codec.types.memo import ContentCache
from fairlead.codec.types.names import dns_subdomain, qualified_name
from fairlead.resources.behaviour import Behaviour, Object, keep
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import family_of, is_address
from fairlead.resources.core.pods import FINISHED
from fairlead.resources.core.pods.annotations import (
    check_annotation_changes,
    check_pod_annotations,
    check_seccomp_matches,
    drop_init_annotations,
    fill_seccomp_fields,
    keys,
)
from fairlead.resources.core.pods.changes import check_ephemeral_change, check_spec_change
from fairlead.resources.core.pods.container_lists import DECLARED_LISTS
from fairlead.resources.core.pods.containers import check_image_space, has_image_space
from fairlead.resources.core.pods.defaults import (
    drop_disabled_fields,
    fill_requests,
    fill_spec_defaults,
)
from fairlead.resources.core.pods.go_text import go_pod_ip, go_pod_ips
from fairlead.resources.core.pods.resources import qos_class
from fairlead.resources.core.pods.spec import check_spec
from fairlead.resources.core.pods.warnings import warn_of_pod
from fairlead.resources.metadata import check_metadata, check_metadata_update
from fairlead.resources.registry import Resource
from fairlead.resources.rules import NOT_AN_ADDRESS

ANNOTATIONS: Final = "metadata.annotations"
# Metadata that an update of a subresource does not change.
_STATUS_KEEPS = ("ownerReferences",)
_EPHEMERAL_KEEPS = ("labels", "annotations", "finalizers", "ownerReferences", "managedFields")


def _depends_on_name(spec: Object) -> bool:
    """Whether the rules of the spec use the pod's name: the names of ephemeral claims derive from
    it."""
    return any(volume.get("ephemeral") for volume in spec.get("volumes") or ())


class PodBehaviour(Behaviour):
    def __init__(self, resource: Resource) -> None:
        super().__init__(resource)
        self._good_specs: ContentCache[bool] = ContentCache("good pod specs")
        self._quiet_pods: ContentCache[bool] = ContentCache("pods without warnings")

    def fill_defaults(self, value: Object, context: Context) -> None:
        spec = value["spec"]
        if spec.get("enableServiceLinks") is None:
            spec["enableServiceLinks"] = True
        fill_spec_defaults(spec)
        fill_requests(spec)
        sync_pod_addresses(value["status"])
        drop_init_annotations(value["metadata"], context.dialect)

    def prepare_create(self, value: Object, context: Context) -> None:
        spec = value["spec"]
        value["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
        drop_disabled_fields(spec, None, context)
        fill_seccomp_fields(value["metadata"].get("annotations"), spec, context.dialect)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        keep(value, old, "status")
        drop_disabled_fields(value["spec"], old["spec"], context)

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        if subresource == "ephemeralcontainers":
            _keep_all_but_ephemeral(value, old)
            drop_disabled_fields(value["spec"], old["spec"], context)
            return
        keep(value, old, "spec")
        for name in _STATUS_KEEPS:
            keep(value["metadata"], old["metadata"], name)

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        self._check_all(value, causes, context)
        spec, metadata = value["spec"], value["metadata"]
        if spec.get("ephemeralContainers"):
            causes.forbidden("spec.ephemeralContainers", "cannot be set on create")
        check_seccomp_matches(metadata.get("annotations"), spec, "spec", causes, context.dialect)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        is_same = bool(value["spec"] == old["spec"])
        self._check_changed(value, old, is_same, causes, context)
        check_spec_change(value["spec"], old["spec"], is_same, "spec", causes)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        if subresource == "ephemeralcontainers":
            self._check_ephemeral_update(value, old, causes, context)
            return
        check_metadata_update(value["metadata"], old["metadata"], causes)
        self._check_annotations(value, old, causes, context)
        check_conditions(value["status"], "metadata.conditions", causes)
        policy = old["spec"].get("restartPolicy", "")
        check_status(value["status"], old["status"], policy, causes)

    def _check_ephemeral_update(
        self, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        if keys(context.dialect).mirror in (old["metadata"].get("annotations") or {}):
            causes.clear()
            causes.forbidden("[]", "static pods do not support ephemeral containers")
            return
        is_same = bool(value["spec"] == old["spec"])
        self._check_changed(value, old, is_same, causes, context)
        path = "spec.ephemeralContainers"
        check_ephemeral_change(value["spec"], old["spec"], path, causes)

    def _check_changed(
        self, value: Object, old: Object, is_same: bool, causes: Causes, context: Context
    ) -> None:
        """`is_same`: the spec is unchanged."""
        check_metadata_update(value["metadata"], old["metadata"], causes)
        self._check_all(value, causes, context, old, is_same)
        self._check_annotations(value, old, causes, context)

    def _check_annotations(
        self, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        dialect = context.dialect
        metadata, old_metadata = value["metadata"], old["metadata"]
        check_annotation_changes(metadata, old_metadata, ANNOTATIONS, causes, dialect)
        new, before = metadata.get("annotations"), old_metadata.get("annotations")
        check_pod_annotations(new, value["spec"], ANNOTATIONS, causes, dialect, before)

    def _check_all(
        self,
        value: Object,
        causes: Causes,
        context: Context,
        old: Object | None = None,
        is_same: bool = False,
    ) -> None:
        metadata, spec = value["metadata"], value["spec"]
        check_metadata(metadata, True, self.name_rule, causes)
        before = old["metadata"].get("annotations") if old else None
        annotations = metadata.get("annotations")
        check_pod_annotations(annotations, spec, ANNOTATIONS, causes, context.dialect, before)
        if is_same:
            return  # it was valid when it was stored
        key = self._good_specs.key(spec)
        if key is not None and self._good_specs.get(key):
            return
        cause_count = len(causes)
        self._check_spec(spec, metadata.get("name", ""), causes, context)
        if key is not None and len(causes) == cause_count and not _depends_on_name(spec):
            self._good_specs.keep(key, True)

    def _check_spec(self, spec: Object, name: str, causes: Causes, context: Context) -> None:
        check_spec(spec, name, "spec", causes, context)
        if not spec.get("serviceAccountName"):
            _check_no_tokens(spec, causes)
        for kind in DECLARED_LISTS:
            containers: list[Object] | None = spec.get(kind)
            for index, container in enumerate(containers or ()):
                if has_image_space(container):
                    check_image_space(container, f"spec.{kind}[{index}]", causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if old is not None:  # controllers update pods, and do not read warnings
            return
        key = self._quiet_pods.key([value["spec"], value["metadata"].get("annotations")])
        if key is not None and self._quiet_pods.get(key):
            return
        before = len(context.warnings)
        warn_of_pod(value["spec"], value["metadata"], "", context)
        if key is not None and len(context.warnings) == before:
            self._quiet_pods.keep(key, True)

    def grace_period(self, value: Object, requested: int | None) -> int | None:
        """0 for a pod without a node or in a final phase: no container is running."""
        if not value["spec"].get("nodeName") or value["status"].get("phase") in FINISHED:
            return 0
        own: int = value["spec"].get("terminationGracePeriodSeconds", 0)
        period = own if requested is None else requested
        return 1 if period < 0 else period


def _check_no_tokens(spec: Object, causes: Causes) -> None:
    """A pod without a service account cannot mount tokens."""
    for index, volume in enumerate(spec.get("volumes") or ()):
        sources = (volume.get("projected") or {}).get("sources") or ()
        for number, source in enumerate(sources):
            if source.get("serviceAccountToken") is not None:
                causes.forbidden(
                    f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken",
                    "must not be specified when serviceAccountName is not set",
                )


def _keep_all_but_ephemeral(value: Object, old: Object) -> None:
    ephemeral = value["spec"].get("ephemeralContainers")
    value["spec"] = dict(old["spec"])
    value["spec"].pop("ephemeralContainers", None)
    if ephemeral:
        value["spec"]["ephemeralContainers"] = ephemeral
    keep(value, old, "status")
    for name in _EPHEMERAL_KEEPS:
        keep(value["metadata"], old["metadata"], name)


# The status of pods: its rules, and the two forms of its addresses

SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
STILL_TERMINATED = "may not be transitioned to non-terminated state"


def sync_pod_addresses(status: Object) -> None:
    """Sync `podIP` with the first of `podIPs`; `podIP` wins."""
    single, many = status.get("podIP"), status.get("podIPs")
    if single and (not many or many[0].get("ip") != single):
        status["podIPs"] = [{"ip": single}]
    elif many and not single:
        first = many[0].get("ip")
        if first:
            status["podIP"] = first


def check_status(status: Object, old: Object, restart_policy: str, causes: Causes) -> None:
    node = status.get("nominatedNodeName", "")
    if node and node != old.get("nominatedNodeName"):
        causes.invalid_each("status.nominatedNodeName", node, dns_subdomain(node))
    for name, policy in (
        ("containerStatuses", restart_policy),
        ("initContainerStatuses", restart_policy),
        ("ephemeralContainerStatuses", "Never"),
    ):
        before, after = old.get(name) or (), status.get(name) or ()
        _check_transitions(before, after, policy, f"status.{name}", causes)
    _check_addresses(status, "status.podIPs", causes)


def check_conditions(status: Object, path: str, causes: Causes) -> None:
    for index, condition in enumerate(status.get("conditions") or ()):
        kind = condition["type"]
        if kind not in SYSTEM_CONDITIONS:
            causes.invalid_each(f"{path}[{index}].Type", kind, qualified_name(kind))


def _check_transitions(
    before: list[Object] | tuple[()],
    after: list[Object] | tuple[()],
    policy: str,
    path: str,
    causes: Causes,
) -> None:
    """A container that terminated for good must not run again."""
    if policy == "Always":
        return
    for index, old in enumerate(before):
        ended = (old.get("state") or {}).get("terminated")
        if ended is None or (ended["exitCode"] != 0 and policy == "OnFailure"):
            continue
        for new in after:
            if new["name"] == old["name"] and (new.get("state") or {}).get("terminated") is None:
                causes.forbidden(f"{path}[{index}].state", STILL_TERMINATED)


def _check_addresses(status: Object, path: str, causes: Causes) -> None:
    addresses = [address.get("ip", "") for address in status.get("podIPs") or ()]
    for index, address in enumerate(addresses):
        if not is_address(address):
            causes.invalid(f"{path}[{index}]", address, NOT_AN_ADDRESS)
    if len(addresses) < 2:
        return
    invalid = not all(is_address(address) for address in addresses)
    if invalid:
        causes.internal(path, "failed to check for dual stack with error:ip <nil> is invalid")
    if invalid or not _is_dual_stack(addresses):
        detail = "may specify no more than one IP for each IP family"
        causes.invalid(path, go_pod_ips(addresses), detail)
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            causes.duplicate(f"{path}[{index}]", go_pod_ip(address))


def _is_dual_stack(addresses: list[str]) -> bool:
    return len(addresses) == 2 and len({family_of(address) for address in addresses}) == 2
