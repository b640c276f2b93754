"""The behaviour of StatefulSet: pods with an identity and claims of their own. Its template is
hardly checked, because the volumes that claims add to the pods are not in it.
"""

from __future__ import annotations

from fairlead.codec.types.names import dns_label
from fairlead.resources.apps.shared import (
    RETENTION,
    StatusCounts,
    check_at_most_hundred_percent,
    check_collision_count,
    check_int_or_percent,
    int_or_percent,
    int_or_string_shown,
    selector_shown,
    strategy_shown,
)
from fairlead.resources.apps.templates import (
    TEMPLATE,
    TemplateBehaviour,
    check_long_running,
    check_required_selector,
    check_template_labels,
    selector_is_sound,
)
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue, go_composite, go_pointer, new_causes
from fairlead.resources.context import Context
from fairlead.resources.core.persistent_volume_claims import round_claim
from fairlead.resources.core.pods.annotations import check_pod_annotations
from fairlead.resources.core.pods.spec import check_pod_template
from fairlead.resources.core.volumes.claims import check_claim_spec
from fairlead.resources.metadata import (
    check_annotations,
    check_labels,
    check_metadata,
    check_metadata_update,
)
from fairlead.resources.rules import non_negative

RETENTION_CHOICES = ("Retain", "Delete")
CHANGEABLE = ("replicas", "template", "updateStrategy", RETENTION, "minReadySeconds")
# The same in later releases.
CHANGEABLE_WITH_ORDINALS = (
    *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
    *(RETENTION, "minReadySeconds"),
)


def _forbidden_change(names: tuple[str, ...]) -> str:
    listed = f"{', '.join(repr(name) for name in names[:-1])} and {names[-1]!r}"
    return f"updates to statefulset spec for fields other than {listed} are forbidden"


STATUS = StatusCounts(
    (
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ),
    (
        ("readyReplicas", "replicas", "status.replicas"),
        ("currentReplicas", "replicas", "status.replicas"),
        ("updatedReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "readyReplicas", "status.readyReplicas"),
    ),
)


def set_claim_types(spec: Object) -> None:
    """Set apiVersion and kind of the claim templates, which are whole objects."""
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"


class StatefulSetBehaviour(TemplateBehaviour):
    def fill_defaults(self, value: Object, context: Context) -> None:
        super().fill_defaults(value, context)
        spec = value["spec"]
        _fill_strategy(spec["updateStrategy"], context)
        if context.gates["StatefulSetAutoDeletePVC"]:
            retention = spec.setdefault(RETENTION, {})
            for name in ("whenDeleted", "whenScaled"):
                retention[name] = retention.get(name) or "Retain"
        set_claim_types(spec)
        for claim in spec.get("volumeClaimTemplates") or ():
            round_claim(claim)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        self._check_spec(value["spec"], None, causes, context)

    def _check_spec(
        self, spec: Object, old: Object | None, causes: Causes, context: Context
    ) -> None:
        """`old` is the spec before an update; violations that it had already are accepted."""
        if context.dialect.statefulset_service_name_required and not spec["serviceName"]:
            causes.required("spec.serviceName")
        _check_management(spec.get("podManagementPolicy", ""), causes)
        _check_strategy(spec["updateStrategy"], causes, context)
        _check_retention(spec.get(RETENTION), causes, context)
        checks_template = context.gates["StatefulSetTemplateChecks"]
        if checks_template and old is None:
            for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
                claim_path = f"spec.volumeClaimTemplates[{index}].spec"
                check_claim_spec(claim["spec"], claim_path, causes, context)
        for name in ("replicas", "minReadySeconds"):
            non_negative(spec.get(name), f"spec.{name}", causes)
        if "ordinals" in spec:
            non_negative(spec["ordinals"].get("start"), "spec.ordinals.start", causes)
        service = spec.get("serviceName", "")
        if checks_template and old is None and service:
            causes.invalid_each("spec.serviceName", service, dns_label(service))
        selector = spec.get("selector")
        check_required_selector(selector, "statefulset", causes, context)
        if selector_is_sound(selector):
            check_template_labels(selector, spec["template"], causes)
            if checks_template and (old is None or not _template_causes(old, context)):
                check_pod_template(_checked_template(spec), TEMPLATE, causes, context)
            _check_template(spec["template"], causes, context)
        else:
            causes.invalid("spec.selector", selector_shown(selector), "")
        check_long_running(spec["template"], "StatefulSet", causes)
        if context.dialect.claim_templates_mounted:
            _check_claims_mounted(spec, causes)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        if context.gates["StatefulSetTemplateChecks"]:
            self.check_metadata_change(value, old, causes)
            self._check_spec(value["spec"], old["spec"], causes, context)
        else:
            self.check_create(value, causes, context)
            self.check_metadata_change(value, old, causes)
        self.check_change(value, old, causes, context)

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        if context.gates["StatefulSetTemplateChecks"]:
            check_metadata(value["metadata"], True, dns_label, causes)
            self.check(value, causes, context)
        else:
            super().check_create(value, causes, context)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        super().warnings(value, old, context)
        limit = value["spec"].get("revisionHistoryLimit") or 0
        if limit < 0 and context.subresource != "status" and context.gates["PodWarnings"]:
            context.warn(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; a"
                " value >= 0 is recommended"
            )

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        spec, old_spec = value["spec"], old["spec"]
        with_ordinals = context.gates["StatefulSetTemplateChecks"]
        changeable = CHANGEABLE_WITH_ORDINALS if with_ordinals else CHANGEABLE
        if any(
            spec.get(name) != old_spec.get(name)
            for name in {*spec, *old_spec}
            if name not in changeable
        ):
            causes.forbidden("spec", _forbidden_change(changeable))

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        STATUS.check(value["status"], causes)
        check_metadata_update(value["metadata"], old["metadata"], causes)
        check_collision_count(value["status"], old["status"], causes)


def _check_claims_mounted(spec: Object, causes: Causes) -> None:
    """Each claim must be mounted, or used as a device, by a container."""
    pod = spec["template"]["spec"]
    used = {
        item["name"]
        for container in (*(pod.get("containers") or ()), *(pod.get("initContainers") or ()))
        for kind in ("volumeMounts", "volumeDevices")
        for item in container.get(kind) or ()
    }
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        name = claim["metadata"].get("name", "")
        if name not in used:
            detail = "must be mounted by a container of the template"
            causes.invalid(f"spec.volumeClaimTemplates[{index}].metadata.name", name, detail)


def _fill_strategy(strategy: Object, context: Context) -> None:
    """The default is a rolling update, whose settings are then filled in too."""
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    steps = strategy.get("rollingUpdate")
    if strategy["type"] == "RollingUpdate" and steps is not None:
        steps.setdefault("partition", 0)
        if context.gates["MaxUnavailableStatefulSet"]:
            steps.setdefault("maxUnavailable", 1)


def _check_management(policy: str, causes: Causes) -> None:
    if not policy:
        causes.required("spec.podManagementPolicy")
    elif policy not in ("OrderedReady", "Parallel"):
        detail = "must be 'OrderedReady' or 'Parallel'"
        causes.invalid("spec.podManagementPolicy", policy, detail)


def _check_strategy(strategy: Object, causes: Causes, context: Context) -> None:
    path, steps = "spec.updateStrategy", strategy.get("rollingUpdate")
    match strategy.get("type", ""):
        case "":
            causes.required(path)
        case "OnDelete":
            if steps is not None:
                detail = "only allowed for updateStrategy 'RollingUpdate'"
                causes.invalid(f"{path}.rollingUpdate", _steps_shown(steps), detail)
        case "RollingUpdate":
            _check_steps(steps or {}, f"{path}.rollingUpdate", causes, context)
        case other:
            steps = steps and {"partition": 0, "maxUnavailable": None, **steps}
            shown = strategy_shown("StatefulSetUpdateStrategy", other, _STEPS, steps)
            causes.invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")


_STEPS = "RollingUpdateStatefulSetStrategy"


def _steps_shown(steps: Object) -> GoValue:
    unavailable = go_pointer("intstr.IntOrString", steps.get("maxUnavailable"))
    parts = {"Partition": str(steps.get("partition") or 0), "MaxUnavailable": unavailable}
    return go_composite(f"apps.{_STEPS}", parts)


def _check_steps(steps: Object, path: str, causes: Causes, context: Context) -> None:
    non_negative(steps.get("partition"), f"{path}.partition", causes)
    unavailable = steps.get("maxUnavailable")
    if unavailable is None or not context.gates["MaxUnavailableStatefulSet"]:
        return
    value_path = f"{path}.maxUnavailable"
    check_int_or_percent(unavailable, value_path, causes)
    if int_or_percent(unavailable) == 0:
        causes.invalid(value_path, int_or_string_shown(unavailable), "cannot be 0")
    check_at_most_hundred_percent(unavailable, value_path, causes)


def _check_retention(retention: Object | None, causes: Causes, context: Context) -> None:
    if retention is None or not context.gates["StatefulSetAutoDeletePVC"]:
        return
    for name in ("whenDeleted", "whenScaled"):
        if retention.get(name) not in RETENTION_CHOICES:
            policy_path = f"spec.{RETENTION}.{name}"
            causes.unsupported(policy_path, retention.get(name, ""), RETENTION_CHOICES)


def _template_causes(spec: Object, context: Context) -> Causes:
    """The errors of the template of a StatefulSet that exists."""
    causes = new_causes(context.gates)
    check_pod_template(_checked_template(spec), TEMPLATE, causes, context)
    return causes


def _checked_template(spec: Object) -> Object:
    """The template with the volumes of the claims. Its host name and subdomain are not checked: the
    controller sets those of the pods."""
    template, claims = spec["template"], spec.get("volumeClaimTemplates") or ()
    pod = dict(template["spec"])
    for name in ("subdomain", "hostname"):
        pod.pop(name, None)
    names = [claim["metadata"].get("name", "") for claim in claims]
    if names:
        volumes = [volume for volume in pod.get("volumes") or () if volume["name"] not in names]
        added = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}}
            for name in dict.fromkeys(names)
        ]
        pod["volumes"] = [*added, *volumes]
    return {**template, "spec": pod}


def _check_template(template: Object, causes: Causes, context: Context) -> None:
    metadata = template["metadata"]
    annotations, path = metadata.get("annotations"), f"{TEMPLATE}.annotations"
    check_labels(metadata.get("labels"), f"{TEMPLATE}.labels", causes)
    check_annotations(annotations, path, causes)
    check_pod_annotations(annotations, template["spec"], path, causes, context.dialect)
