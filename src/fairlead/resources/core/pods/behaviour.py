"""The behaviour of Pod."""

from __future__ import annotations

from typing import Final

from fairlead.base.release import join_reworded
from fairlead.codec.types.memo import ContentCache
from fairlead.codec.types.model import struct_at
from fairlead.codec.types.names import dns_label, is_dns_label
from fairlead.codec.types.times import now
from fairlead.resources.behaviour import Behaviour, Object, count_generation, keep
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods import FINISHED
from fairlead.resources.core.pods.annotations import (
    check_annotation_changes,
    check_app_armor_matches,
    check_pod_annotations,
    check_seccomp_matches,
    drop_init_annotations,
    fill_app_armor_fields,
    fill_seccomp_fields,
    keys,
)
from fairlead.resources.core.pods.changes import check_ephemeral_change, check_spec_change
from fairlead.resources.core.pods.container_lists import DECLARED_LISTS
from fairlead.resources.core.pods.containers import check_image_space, has_image_space
from fairlead.resources.core.pods.defaults import (
    drop_disabled_fields,
    fill_host_ports,
    fill_requests,
    fill_spec_defaults,
)
from fairlead.resources.core.pods.pod_resources import fill_pod_resources
from fairlead.resources.core.pods.resize import check_resize, keep_all_but_resources
from fairlead.resources.core.pods.resources import qos_class
from fairlead.resources.core.pods.scheduling import merge_label_keys
from fairlead.resources.core.pods.spec import check_spec
from fairlead.resources.core.pods.status import (
    check_conditions,
    check_newer_status,
    check_status,
    keep_observed_generations,
    sync_pod_addresses,
)
from fairlead.resources.core.pods.warnings import warn_of_pod
from fairlead.resources.metadata import check_metadata, check_metadata_update
from fairlead.resources.registry import Resource

ANNOTATIONS: Final = "metadata.annotations"
NAME_IN_HOST_NAME = (
    "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is"
    " recommended"
)
GRACE = "terminationGracePeriodSeconds"
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
        fill_host_ports(spec)
        fill_requests(spec)
        if spec.get(GRACE, 0) < 0 and context.gates["NegativeGracePeriodIsOne"]:
            spec[GRACE] = 1
        if "resources" in spec:
            fill_pod_resources(spec, context)
        sync_pod_addresses(value["status"])
        drop_init_annotations(value["metadata"], context.dialect)

    def prepare_create(self, value: Object, context: Context) -> None:
        spec, metadata = value["spec"], value["metadata"]
        value["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
        drop_disabled_fields(spec, None, context)
        if self.resource.counts_generation:
            metadata["generation"] = 1
        if "schedulingGates" in spec:
            value["status"]["conditions"] = [_gated_condition()]
        gates = context.gates
        if gates["MatchLabelKeysInPodAffinity"]:
            merge_label_keys(spec, metadata.get("labels"), gates)
        if gates["AppArmorFields"]:
            fill_app_armor_fields(metadata.get("annotations"), spec, context)
        if gates["SeccompAnnotationSync"]:
            fill_seccomp_fields(metadata.get("annotations"), spec, context.dialect)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        keep(value, old, "status")
        drop_disabled_fields(value["spec"], old["spec"], context)
        if self.resource.counts_generation:
            count_generation(value, old)

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        if subresource in ("ephemeralcontainers", "resize"):
            if subresource == "resize":
                keep_all_but_resources(value, old, context)
            else:
                _keep_all_but_ephemeral(value, old)
            for name in _EPHEMERAL_KEEPS:
                keep(value["metadata"], old["metadata"], name)
            drop_disabled_fields(value["spec"], old["spec"], context)
            if self.resource.counts_generation:
                count_generation(value, old)
            return
        keep(value, old, "spec")
        for name in _STATUS_KEEPS:
            keep(value["metadata"], old["metadata"], name)
        if self.resource.counts_generation:
            keep(value["metadata"], old["metadata"], "generation")
            keep_observed_generations(value["status"], old["status"])
            if not value["status"].get("qosClass"):
                keep(value["status"], old["status"], "qosClass")

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        self._check_all(value, causes, context)
        spec, metadata = value["spec"], value["metadata"]
        if spec.get("ephemeralContainers"):
            causes.forbidden("spec.ephemeralContainers", "cannot be set on create")
        if spec.get("nodeName") and "schedulingGates" in spec:
            detail = "cannot be set until all schedulingGates have been cleared"
            causes.forbidden("spec.nodeName", detail)
        annotations = metadata.get("annotations")
        check_seccomp_matches(annotations, spec, "spec", causes, context.dialect)
        if annotations and context.gates["AppArmorFields"]:
            check_app_armor_matches(annotations, spec, "spec", causes, context.dialect)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        is_same = bool(value["spec"] == old["spec"])
        self._check_changed(value, old, is_same, causes, context)
        spec_type = struct_at(self.resource.stored_struct, "spec")
        check_spec_change(spec_type, value["spec"], old["spec"], is_same, "spec", causes)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        if subresource == "ephemeralcontainers":
            self._check_ephemeral_update(value, old, causes, context)
            return
        if subresource == "resize":
            check_metadata_update(value["metadata"], old["metadata"], causes)
            self._check_all(value, causes, context, old, bool(value["spec"] == old["spec"]))
            check_resize(value, old, causes, context)
            return
        check_metadata_update(value["metadata"], old["metadata"], causes)
        self._check_annotations(value, old, causes, context)
        if context.gates["PodObservedGenerationTracking"]:
            check_newer_status(value, old, causes, context)
        else:
            check_conditions(value["status"], "metadata.conditions", causes)
            check_status(value["status"], old["status"], old["spec"], causes, context.gates)

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
        container_type = struct_at(self.resource.stored_struct, path)
        check_ephemeral_change(container_type, value["spec"], old["spec"], path, causes)

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
        if context.gates["PodWarnings"] and not is_dns_label(value["metadata"]["name"]):
            errors = join_reworded(" ", dns_label(value["metadata"]["name"])).later
            context.warn(f"metadata.name: {NAME_IN_HOST_NAME}: [{errors}]")
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
        own: int = value["spec"].get(GRACE, 0)
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


def _gated_condition() -> Object:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": now(),
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }
