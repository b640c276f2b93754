"""Behaviour and rules of kinds with a pod template."""

from __future__ import annotations

from fairlead.base.release import join_reworded
from fairlead.codec.types.names import dns_label
from fairlead.resources.apps.shared import selector_shown
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.spec import (
    check_pod_template,
    drop_disabled_pod_fields,
    fill_template_defaults,
    template_warnings,
)
from fairlead.resources.go_values import given_map, go_map
from fairlead.resources.rules import (
    checks_selector_values,
    label_selector,
    selector_is_empty,
    selector_matches,
)

TEMPLATE = "spec.template"
MISMATCH = "`selector` does not match template `labels`"


class TemplateBehaviour(Behaviour):
    """A kind with a pod template at `template_path`."""

    template_path = TEMPLATE
    checks_twice = False  # in early releases, an update also runs all checks of a create
    names_pods = False  # warn if the name is not good for the names of pods

    def template(self, value: Object) -> Object:
        node = value
        for step in self.template_path.split("."):
            node = node[step]
        return node

    def fill_defaults(self, value: Object, context: Context) -> None:
        fill_template_defaults(self.template(value), context)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        if self.checks_twice and not context.gates["CheckedOnce"]:
            self.check_create(value, causes, context)
        super().check_update(value, old, causes, context)

    def prepare_create(self, value: Object, context: Context) -> None:
        self.drop_disabled(value, None, context)
        super().prepare_create(value, context)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        self.drop_disabled(value, old, context)
        super().prepare_update(value, old, context)

    def drop_disabled(self, value: Object, old: Object | None, context: Context) -> None:
        """Remove the fields of disabled features, unless the old object uses them."""
        old_spec = self.template(old)["spec"] if old is not None else None
        drop_disabled_pod_fields(self.template(value)["spec"], old_spec, context)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if self.names_pods and old is None and context.gates["PodWarnings"]:
            warn_of_pod_names(value["metadata"]["name"], context)
        if old is None or _generation(value) != _generation(old):
            template_warnings(self.template(value), self.template_path, context)


NAME_IN_POD_NAMES = (
    "this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label"
    " is recommended"
)


def warn_of_pod_names(name: str, context: Context) -> None:
    """Warn of a name of a workload that is not good for the names of its pods."""
    if errors := dns_label(name):
        context.warn(f"metadata.name: {NAME_IN_POD_NAMES}: [{join_reworded(' ', errors).later}]")


def _generation(value: Object) -> int:
    return int(value["metadata"].get("generation", 0))


def check_required_selector(
    selector: Object | None, kind: str, causes: Causes, context: Context
) -> None:
    """The selector must be set and not empty; `kind` is the word in the message."""
    if selector is None:
        causes.required("spec.selector")
        return
    check_values = checks_selector_values(context.gates)
    label_selector(selector, "spec.selector", causes, check_values=check_values)
    if selector_is_empty(selector):
        detail = f"empty selector is invalid for {kind}"
        causes.invalid("spec.selector", selector_shown(selector), detail)


def selector_is_sound(selector: Object | None) -> bool:
    """Whether a selector is valid, so that it can be evaluated."""
    selector_causes = Causes()
    label_selector(selector, "", selector_causes, check_values=True)
    return not selector_causes


def check_template_labels(selector: Object | None, template: Object, causes: Causes) -> None:
    """The selector must match the labels of the template."""
    labels = given_map(template["metadata"], "labels")
    if not selector_matches(selector, labels or {}):
        causes.invalid(f"{TEMPLATE}.metadata.labels", go_map(labels), MISMATCH)


def check_long_running(template: Object, kind: str, causes: Causes) -> None:
    """Long-running pods must always restart and have no deadline."""
    spec = template["spec"]
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        causes.unsupported(f"{TEMPLATE}.spec.restartPolicy", policy, ["Always"])
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        causes.forbidden(f"{TEMPLATE}.spec.activeDeadlineSeconds", detail)


def check_shared_disks(template: Object, causes: Causes, context: Context) -> None:
    """A disk that only one machine can write to must be read-only in replicated pods. Later
    releases leave that to the drivers of disks."""
    if not context.gates["SharedDisksReadOnly"]:
        return
    for index, volume in enumerate(template["spec"].get("volumes") or ()):
        disk = volume.get("gcePersistentDisk")
        if disk is not None and not disk.get("readOnly"):
            causes.invalid(
                f"{TEMPLATE}.spec.volumes[{index}].gcePersistentDisk.readOnly",
                False,
                "must be true for replicated pods > 1; GCE PD can only be mounted on multiple"
                " machines if it is read-only",
            )


def check_replicated(spec: Object, causes: Causes, context: Context) -> None:
    """Check the selector and template of a Deployment or ReplicaSet."""
    selector, template = spec.get("selector"), spec["template"]
    check_required_selector(selector, "deployment", causes, context)
    if not selector_is_sound(selector):
        causes.invalid("spec.selector", selector_shown(selector), "invalid label selector")
        return
    check_template_labels(selector, template, causes)
    check_pod_template(template, TEMPLATE, causes, context)
    if spec.get("replicas", 0) > 1:
        check_shared_disks(template, causes, context)
    check_long_running(template, "ReplicaSet", causes)
