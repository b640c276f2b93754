"""The behaviour of ReplicationController: a number of pods from a template."""

from __future__ import annotations

from fairlead.resources.behaviour import Behaviour, Object, keep
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.spec import (
    check_pod_template,
    drop_disabled_pod_fields,
    fill_template_defaults,
    template_warnings,
)
from fairlead.resources.go_values import given_map, go_map
from fairlead.resources.metadata import check_metadata_update
from fairlead.resources.rules import non_negative, required

_COUNTS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
_READ_ONLY_DISK = (
    "must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it"
    " is read-only"
)


class ReplicationControllerBehaviour(Behaviour):
    def fill_defaults(self, value: Object, context: Context) -> None:
        spec, metadata = value["spec"], value["metadata"]
        template = spec.get("template")
        if template is None:
            return
        fill_template_defaults(template, context)
        labels = template["metadata"].get("labels")
        if labels:
            spec["selector"] = spec.get("selector") or dict(labels)
            metadata["labels"] = metadata.get("labels") or dict(labels)

    def prepare_create(self, value: Object, context: Context) -> None:
        super().prepare_create(value, context)
        _drop_disabled(value, None, context)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        _drop_disabled(value, old, context)
        super().prepare_update(value, old, context)

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        super().prepare_subresource_update(subresource, value, old, context)
        keep(value["metadata"], old["metadata"], "generation")

    def default_propagation(self, value: Object, context: Context) -> str:
        return "Orphan"

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        self._check_spec(value["spec"], causes, context)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        if not context.gates["CheckedOnce"]:
            self.check_create(value, causes, context)
        check_metadata_update(value["metadata"], old["metadata"], causes)
        self._check_spec(value["spec"], causes, context)

    def _check_spec(self, spec: Object, causes: Causes, context: Context) -> None:
        non_negative(spec.get("minReadySeconds"), "spec.minReadySeconds", causes)
        required(spec.get("selector"), "spec.selector", causes)
        non_negative(spec.get("replicas"), "spec.replicas", causes)
        template = spec.get("template")
        if template is None:
            causes.required("spec.template")
        else:
            _check_template(template, spec, "spec.template", causes, context)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        _check_status(value["status"], "status", causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        """As in the reference, an update warns about the template that it replaces."""
        path = "spec.template"
        if old is None:
            template = value["spec"].get("template")
            if not context.gates["PodWarnings"]:
                path = "template"
        elif value["metadata"].get("generation") != old["metadata"].get("generation"):
            template = old["spec"].get("template")
        else:
            return
        if template is not None:
            template_warnings(template, path, context)


def _drop_disabled(value: Object, old: Object | None, context: Context) -> None:
    template = value["spec"].get("template")
    old_template = old["spec"].get("template") if old is not None else None
    if template is not None:
        old_spec = old_template["spec"] if old_template is not None else None
        drop_disabled_pod_fields(template["spec"], old_spec, context)


def _check_template(
    template: Object, spec: Object, path: str, causes: Causes, context: Context
) -> None:
    labels = given_map(template["metadata"], "labels")
    selector = spec.get("selector") or {}
    if any((labels or {}).get(key) != value for key, value in selector.items()):
        detail = "`selector` does not match template `labels`"
        causes.invalid(f"{path}.metadata.labels", go_map(labels), detail)
    check_pod_template(template, path, causes, context)
    pod = template["spec"]
    if spec.get("replicas", 0) > 1 and context.gates["SharedDisksReadOnly"]:
        _check_disks(pod.get("volumes") or [], f"{path}.spec.volumes", causes)
    if pod.get("restartPolicy") != "Always":
        field = f"{path}.spec.restartPolicy"
        causes.unsupported(field, pod.get("restartPolicy", ""), ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        detail = "activeDeadlineSeconds in ReplicationController is not Supported"
        causes.forbidden(f"{path}.spec.activeDeadlineSeconds", detail)


def _check_disks(volumes: list[Object], path: str, causes: Causes) -> None:
    for index, volume in enumerate(volumes):
        disk = volume.get("gcePersistentDisk")
        if disk is not None and not disk.get("readOnly"):
            field = f"{path}[{index}].gcePersistentDisk.readOnly"
            causes.invalid(field, False, _READ_ONLY_DISK)


def _check_status(status: Object, path: str, causes: Causes) -> None:
    for name in (*_COUNTS, "observedGeneration"):
        non_negative(status.get(name), f"{path}.{name}", causes)
    total = status["replicas"]
    for name in _COUNTS[1:]:
        count = status.get(name, 0)
        if count > total:
            causes.invalid(f"{path}.{name}", count, "cannot be greater than status.replicas")
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        causes.invalid(
            f"{path}.availableReplicas", available, "cannot be greater than readyReplicas"
        )
