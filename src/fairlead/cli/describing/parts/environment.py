"""Environment variables of a container."""

from __future__ import annotations

from decimal import ROUND_CEILING

from fairlead.cli.describing.fields import Fields
from fairlead.cli.describing.page import Page
from fairlead.cli.describing.parts.quantities import amount_of
from fairlead.cli.describing.parts.words import NONE

# Fields of a pod that are shown with their value; of all others only the path is.
_KNOWN_FIELDS = ("metadata.name", "metadata.namespace")
_OF_THE_NODE = ("limits.cpu", "limits.memory")


def draw_environment(page: Page, container: Fields, pod: Fields) -> None:
    """`pod` is nothing where a template is described."""
    _draw_sources(page, container)
    variables = container.items("env")
    if not variables:
        page.pair("Environment", NONE, 2)
        return
    page.write("Environment:", 2)
    for variable in variables:
        lines = _value(variable, container, pod)
        page.pair(variable.text("name"), lines[0], 3)
        for line in lines[1:]:
            page.write(f"\t{line}", 3)


def _draw_sources(page: Page, container: Fields) -> None:
    sources = container.items("envFrom")
    if sources:
        page.write("Environment Variables from:", 2)
    for source in sources:
        kind, path = ("ConfigMap", "configMapRef")
        if not source.has(path):
            kind, path = ("Secret", "secretRef") if source.has("secretRef") else ("", "")
        prefix = source.text("prefix")
        what = f"{kind} with prefix '{prefix}'" if prefix else kind
        reference = source.part(path) if path else Fields(None)
        page.row(reference.text("name"), what, _optional(reference), level=3)


def _value(variable: Fields, container: Fields, pod: Fields) -> list[str]:
    source = variable.part("valueFrom")
    if source.has("fieldRef"):
        path = source.text("fieldRef.fieldPath")
        known = pod.text(path) if path in _KNOWN_FIELDS else ""
        return [f"{known} ({source.text('fieldRef.apiVersion')}:{path})"]
    if source.has("resourceFieldRef"):
        reference = source.part("resourceFieldRef")
        return [f"{_resource(reference, container)} ({reference.text('resource')})"]
    if source.has("secretKeyRef"):
        key = source.part("secretKeyRef")
        where = f"in secret '{key.text('name')}'"
        return [f"<key '{key.text('key')}' {where}>\t{_optional(key)}"]
    if source.has("configMapKeyRef"):
        key = source.part("configMapKeyRef")
        where = f"of config map '{key.text('name')}'"
        return [f"<key '{key.text('key')}' {where}>\t{_optional(key)}"]
    return variable.text("value").split("\n")


def _resource(reference: Fields, container: Fields) -> str:
    """How much of a resource a container may have, in units of the divisor."""
    wanted = reference.text("resource")
    kind, _, name = wanted.partition(".")
    if kind not in ("limits", "requests"):
        return ""
    has = amount_of(Fields(container.part(f"resources.{kind}").map().get(name))).value
    divisor = amount_of(reference.part("divisor")).value or 1
    units = int((has / divisor).to_integral_value(ROUND_CEILING))
    return "node allocatable" if not units and wanted in _OF_THE_NODE else str(units)


def _optional(reference: Fields) -> str:
    return f"Optional: {'true' if reference.flag('optional') else 'false'}"
