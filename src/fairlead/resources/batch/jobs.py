"""The behaviour of Job: pods that run until enough of them have succeeded. The server generates the
labels and the selector of its pods, unless the client sets `manualSelector`.
"""

from __future__ import annotations

from fairlead.codec.types.model import struct_at
from fairlead.codec.types.names import dns_label
from fairlead.resources.apps.shared import selector_shown
from fairlead.resources.apps.templates import TemplateBehaviour, selector_is_sound
from fairlead.resources.batch.job_spec import (
    INDEXED,
    TRACKING,
    changeable,
    check_job_spec,
    check_job_spec_change,
)
from fairlead.resources.batch.job_status import COUNTS, check_transition, check_uncounted
from fairlead.resources.batch.pod_failure_policy import fill_condition_defaults
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.go_values import go_map
from fairlead.resources.metadata import check_metadata, check_metadata_update
from fairlead.resources.rules import selector_matches

UID_LABEL, NAME_LABEL = "controller-uid", "job-name"
PREFIX = "batch.@/"  # of the labels of later releases, which are set beside the others
HIGH_COUNTS = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than"
    " 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes"
    " fail"
)
ORPHAN_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background"
    " to remove them or set propagationPolicy=Orphan to suppress this warning"
)
DEFAULTS = {
    "parallelism": 1,
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "suspend": False,
}


class JobBehaviour(TemplateBehaviour):
    names_pods = True

    def fill_defaults(self, value: Object, context: Context) -> None:
        super().fill_defaults(value, context)
        spec, metadata = value["spec"], value["metadata"]
        if spec.get("completions") is None and spec.get("parallelism") is None:
            spec["completions"] = 1
        if spec.get("backoffLimit") is None and spec.get("backoffLimitPerIndex") is not None:
            spec["backoffLimit"] = 2**31 - 1
        for name, default in DEFAULTS.items():
            if spec.get(name) is None:
                spec[name] = default
        if spec.get("podFailurePolicy") is not None:
            fill_condition_defaults(spec["podFailurePolicy"])
        if context.gates["JobPodReplacementPolicy"]:
            has_policy = spec.get("podFailurePolicy") is not None
            policy = "Failed" if has_policy else "TerminatingOrFailed"
            spec.setdefault("podReplacementPolicy", policy)
            spec.setdefault("manualSelector", False)
        labels = spec["template"]["metadata"].get("labels")
        if labels and not metadata.get("labels"):
            # shares the template's map, to which labels are added later
            metadata["labels"] = labels

    def prepare_create(self, value: Object, context: Context) -> None:
        if not value["spec"].get("manualSelector"):
            _generate_selector(value, _label_prefix(context))
        metadata = value["metadata"]
        _separate_labels(metadata)
        super().prepare_create(value, context)
        key, annotations = context.dialect.label(TRACKING), metadata.get("annotations") or {}
        if not context.gates["JobTrackingAnnotation"]:
            return
        if context.gates["JobTrackingWithFinalizers"]:
            metadata["annotations"] = {**annotations, key: ""}
        else:
            annotations.pop(key, None)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        _separate_labels(value["metadata"])
        super().prepare_update(value, old, context)

    def drop_disabled(self, value: Object, old: Object | None, context: Context) -> None:
        super().drop_disabled(value, old, context)
        used = old is not None and old["spec"].get("podFailurePolicy") is not None
        if not context.gates["JobPodFailurePolicy"] and not used:
            value["spec"].pop("podFailurePolicy", None)
        tracked = old is not None and is_tracked(old, context)
        if old is not None and not context.gates["JobTrackingWithFinalizers"] and not tracked:
            (value["metadata"].get("annotations") or {}).pop(context.dialect.label(TRACKING), None)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        self._check_job(value, True, _label_prefix(context), causes, context)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata(value["metadata"], True, self.name_rule, causes)
        may_be_tracked = is_tracked(old, context) or not context.gates["JobTrackingAnnotation"]
        prefix, old_labels = _label_prefix(context), self.template(old)["metadata"].get("labels")
        if not {prefix + UID_LABEL, prefix + NAME_LABEL} <= (old_labels or {}).keys():
            prefix = ""
        selector = old["spec"].get("selector")
        self._check_job(value, may_be_tracked, prefix, causes, context, selector)
        check_metadata_update(value["metadata"], old["metadata"], causes)
        check_job_spec(value["spec"], causes, context, selector)
        spec_type = struct_at(self.resource.stored_struct, "spec")
        may = changeable(old, context)
        check_job_spec_change(spec_type, value["spec"], old["spec"], may, causes)

    def _check_job(
        self,
        value: Object,
        may_be_tracked: bool,
        prefix: str,
        causes: Causes,
        context: Context,
        old_selector: Object | None = None,
    ) -> None:
        _check_generated_selector(value, prefix, causes)
        check_job_spec(value["spec"], causes, context, old_selector)
        if not may_be_tracked and is_tracked(value, context):
            key = context.dialect.label(TRACKING)
            causes.forbidden(f"metadata.annotations[{key}]", "cannot add this annotation")
        _check_host_names(value, causes)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        super().check_subresource_update(subresource, value, old, causes, context)
        COUNTS.check(value["status"], causes)
        check_uncounted(value["status"].get("uncountedTerminatedPods") or {}, causes)
        if context.gates["JobManagedBy"]:
            check_transition(value, old, causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if context.gates["PodWarnings"]:
            spec = value["spec"]
            if old is None or value["metadata"]["generation"] != old["metadata"]["generation"]:
                warn_of_counts(spec, "spec", context)
        super().warnings(value, old, context)

    def normalize(self, value: Object, applied: bool) -> None:
        """Set the labels of a Job without labels to those of its template, generated ones
        included."""
        labels = value["spec"]["template"]["metadata"].get("labels")
        if labels and not value["metadata"].get("labels"):
            value["metadata"]["labels"] = dict(labels)

    def before_delete(self, name: str, propagation: str, context: Context) -> str:
        if not propagation:
            context.warn(ORPHAN_WARNING)
        return ""

    def default_propagation(self, value: Object, context: Context) -> str:
        return "Orphan"


def is_tracked(value: Object, context: Context) -> bool:
    """Whether the pods of a Job are counted by their finalizers."""
    return context.dialect.label(TRACKING) in (value["metadata"].get("annotations") or {})


def _separate_labels(metadata: Object) -> None:
    if metadata.get("labels"):
        metadata["labels"] = dict(metadata["labels"])


def warn_of_counts(spec: Object, path: str, context: Context) -> None:
    """Warn of an indexed Job with too many indexes to be tracked if many fail."""
    if spec.get("completionMode") != INDEXED:
        return
    if (spec.get("completions") or 0) > 100_000 and (spec.get("parallelism") or 0) > 10_000:
        context.warn(f"{path}: {HIGH_COUNTS}")


def _label_prefix(context: Context) -> str:
    """The prefix of the labels by which a Job selects; empty before they had one."""
    return context.dialect.label(PREFIX) if context.gates["JobLabelsWithPrefix"] else ""


def _generate_selector(value: Object, prefix: str) -> None:
    """Label the template with the Job's name and uid, and select by the uid. Values from the client
    are kept; validation reports conflicts."""
    metadata, spec = value["metadata"], value["spec"]
    template = spec["template"]["metadata"]
    if template.get("labels") is None:
        template["labels"] = {}
    for label_prefix in dict.fromkeys(("", prefix)):
        template["labels"].setdefault(label_prefix + UID_LABEL, metadata.get("uid", ""))
        template["labels"].setdefault(label_prefix + NAME_LABEL, metadata.get("name", ""))
    selector = spec.setdefault("selector", {})
    selector["matchLabels"] = {prefix + UID_LABEL: metadata.get("uid", "")} | (
        selector.get("matchLabels") or {}
    )


def _check_generated_selector(value: Object, prefix: str, causes: Causes) -> None:
    """`prefix` is that of the labels that are required beside those without one."""
    metadata, spec = value["metadata"], value["spec"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    expected: dict[str, str] = {}
    for label_prefix in dict.fromkeys(("", prefix)):
        expected[label_prefix + UID_LABEL] = metadata.get("uid", "")
        expected[label_prefix + NAME_LABEL] = metadata.get("name", "")
    if not expected[UID_LABEL]:
        causes.required("metadata.uid")
    labels = spec["template"]["metadata"].get("labels")
    for key, label in expected.items():
        path, detail = f"spec.template.metadata.labels[{key}]", f"must be '{label}'"
        if key not in (labels or {}):
            causes.required(path, detail)
        elif labels[key] != label:
            causes.invalid(path, go_map(labels), detail)
    if selector_is_sound(selector) and not selector_matches(selector, expected):
        causes.invalid("spec.selector", selector_shown(selector), "`selector` not auto-generated")


def _check_host_names(value: Object, causes: Causes) -> None:
    """The pods of an indexed Job have the Job's name and their index as hostname."""
    spec, name = value["spec"], value["metadata"].get("name", "")
    if spec.get("completionMode") != INDEXED or (spec.get("completions") or 0) <= 0:
        return
    longest = f"{name}-{spec['completions'] - 1}"
    if dns_label(longest):
        detail = f"will not able to create pod with invalid DNS label: {longest}"
        causes.invalid("metadata.name", name, detail)
