"""Entry points for the kinds that contain pod specs and pod templates."""

from __future__ import annotations

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.annotations import (
    check_pod_annotations,
    check_seccomp_matches,
    drop_init_annotations,
)
from fairlead.resources.core.pods.defaults import drop_disabled_fields, fill_spec_defaults
from fairlead.resources.core.pods.spec import check_spec
from fairlead.resources.core.pods.warnings import warn_of_pod
from fairlead.resources.metadata import check_annotations, check_labels

NO_EPHEMERAL = "ephemeral containers not allowed in pod template"


def check_pod_template(template: Object, path: str, causes: Causes, context: Context) -> None:
    """Check the labels, annotations and spec of a PodTemplateSpec at `path`."""
    metadata, spec = template["metadata"], template["spec"]
    annotations = metadata.get("annotations")
    check_labels(metadata.get("labels"), f"{path}.labels", causes)
    check_annotations(annotations, f"{path}.annotations", causes)
    check_pod_annotations(annotations, spec, f"{path}.annotations", causes, context.dialect)
    check_pod_spec(spec, f"{path}.spec", causes, context)
    check_seccomp_matches(annotations, spec, f"{path}.spec", causes, context.dialect)
    if spec.get("ephemeralContainers"):
        causes.forbidden(f"{path}.spec.ephemeralContainers", NO_EPHEMERAL)


def check_pod_spec(spec: Object, path: str, causes: Causes, context: Context) -> None:
    """Check a PodSpec at `path`."""
    check_spec(spec, "", path, causes, context)


def fill_template_defaults(template: Object, context: Context) -> None:
    """Set the defaults of a PodTemplateSpec that depend on other fields."""
    fill_spec_defaults(template["spec"])
    drop_init_annotations(template["metadata"], context.dialect)


def drop_disabled_pod_fields(spec: Object, old_spec: Object | None, context: Context) -> None:
    """Remove the fields of disabled features, unless the old spec uses them."""
    drop_disabled_fields(spec, old_spec, context)


def template_warnings(template: Object, path: str, context: Context) -> None:
    """Report warnings about a PodTemplateSpec at `path`."""
    warn_of_pod(template["spec"], template["metadata"], f"{path}.", context)
