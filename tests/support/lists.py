"""Lists of built-in resources, encoded without steps: what tests of lists in steps compare with."""

from __future__ import annotations

from fairlead.api.answers import encode
from fairlead.api.negotiation import Representation
from fairlead.api.representation import metadata_only, read, table, untyped
from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.registry import Resources
from fairlead.storage.version import Version

RESOURCES = Resources(KUBERNETES, BuiltinTypes(KUBERNETES))
METADATA = {"resourceVersion": "7", "continue": "x"}


def at_once(
    key: str, versions: list[Version], form: Representation, include: str = "Metadata"
) -> bytes:
    resource = RESOURCES.named(key)
    values = [read(resource, version) for version in versions]
    if form.transform == "Table":
        value = table(KUBERNETES, resource, values, form, include, METADATA)
    elif form.transform:
        items = [metadata_only(KUBERNETES, value, form.version) for value in values]
        head = {"kind": form.transform, "apiVersion": f"{KUBERNETES.meta_group}/{form.version}"}
        value = {**head, "metadata": METADATA, "items": items}
    else:
        head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version}
        value = {**head, "metadata": METADATA, "items": [untyped(value) for value in values]}
    return encode(value, form, RESOURCES)
