"""Pod specs and pod templates: what other kinds that carry them call."""

from __future__ import annotations

from fairlead.kinds.behaviour import Object
from fairlead.kinds.causes import Causes
from fairlead.kinds.context import Context


def check_pod_template(template: Object, path: str, causes: Causes, context: Context) -> None:
    """The rules of a PodTemplateSpec at `path`: its labels, its annotations and its spec."""


def check_pod_spec(spec: Object, path: str, causes: Causes, context: Context) -> None:
    """The rules of a PodSpec at `path`."""


def fill_pod_spec_defaults(spec: Object, context: Context) -> None:
    """The defaults of a PodSpec that depend on other fields and hold in templates too."""


def drop_disabled_pod_fields(spec: Object, old_spec: Object | None, context: Context) -> None:
    """Remove the fields of features that are off, unless the old spec uses them."""


def template_warnings(template: Object, path: str, context: Context) -> None:
    """Say what is questionable about a PodTemplateSpec at `path`."""
