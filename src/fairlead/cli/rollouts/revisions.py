"""The revisions of a workload: ReplicaSets of a Deployment, ControllerRevisions of other kinds."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.cli.describe.layout import Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.pods import draw_template
from fairlead.cli.errors import CommandError
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.rollouts.state import named_kind, revision_of
from fairlead.client import Client

Object = dict[str, Any]
SETS = (("apps", "DaemonSet"), ("apps", "StatefulSet"))
DEPLOYMENT = ("apps", "Deployment")
CHANGE_CAUSE = "@/change-cause"
# The label that the Deployment controller adds to templates of ReplicaSets.
HASH = "pod-template-hash"
_REPLACES = "$patch"


class Revision(NamedTuple):
    number: int
    cause: str
    template: Object
    source: Object  # the ReplicaSet or ControllerRevision


async def revisions_of(client: Client, resolved: ResolvedObject, tool: str) -> list[Revision]:
    """The revisions, oldest first. Raises CommandError for a kind without revisions; `tool` is
    named in the message."""
    type = resolved.resource.type
    dialect = await client.discovery.dialect()
    if (type.group, type.kind) == DEPLOYMENT:
        sets = await _owned(client, resolved, "ReplicaSet")
        revisions = [_of_replica_set(value, dialect) for value in sets]
    elif (type.group, type.kind) in SETS:
        values = await _owned(client, resolved, "ControllerRevision")
        revisions = [_of_controller_revision(value, dialect) for value in values]
    else:
        raise CommandError(f'no {tool} has been implemented for "{named_kind(type)}"')
    return sorted(
        (revision for revision in revisions if revision is not None),
        key=lambda revision: revision.number,
    )


async def _owned(client: Client, resolved: ResolvedObject, kind: str) -> list[Object]:
    version = "apps/v1"
    resource = client.of(await client.discovery.of_kind(version, kind))
    selector = selector_text(resolved.value["spec"].get("selector") or {})
    listed = await resource.list(resolved.namespace, labelSelector=selector)
    uid = resolved.value["metadata"]["uid"]
    named = {"apiVersion": version, "kind": kind}  # the items of a list do not say it
    return [{**named, **value} for value in listed["items"] if _controller(value) == uid]


def _controller(value: Object) -> str:
    for owner in value["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return str(owner["uid"])
    return ""


def _of_replica_set(value: Object, dialect: Dialect) -> Revision | None:
    number = revision_of(value, dialect)
    if not number:
        return None
    return Revision(number, _cause(value, dialect), value["spec"]["template"], value)


def _of_controller_revision(value: Object, dialect: Dialect) -> Revision | None:
    """None if the ControllerRevision holds no template: its data is not validated."""
    try:
        template = {**value["data"]["spec"]["template"]}
    except (KeyError, TypeError):
        return None
    template.pop(_REPLACES, None)
    return Revision(int(value["revision"]), _cause(value, dialect), template, value)


def _cause(value: Object, dialect: Dialect) -> str:
    notes = value["metadata"].get("annotations") or {}
    return str(notes.get(dialect.label(CHANGE_CAUSE), ""))


def with_cause(revision: Revision, dialect: Dialect) -> Object:
    """The template with the change cause as an annotation."""
    if not revision.cause:
        return revision.template
    template = deepcopy(revision.template)
    metadata = template.setdefault("metadata", {})
    notes = metadata.get("annotations") or {}
    metadata["annotations"] = {**notes, dialect.label(CHANGE_CAUSE): revision.cause}
    return template


def without_hash(template: Object) -> Object:
    """The template without the hash label and empty metadata, to compare or restore it."""
    plain = deepcopy(template)
    metadata = plain.get("metadata") or {}
    labels = metadata.get("labels") or {}
    labels.pop(HASH, None)
    plain["metadata"] = {name: item for name, item in metadata.items() if item}
    return plain


_OPERATORS = {"In": "in", "NotIn": "notin"}
_EXISTENCE = {"Exists": "", "DoesNotExist": "!"}


def selector_text(selector: Mapping[str, Any]) -> str:
    """The selector in the syntax of the labelSelector parameter."""
    parts = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        operator = expression["operator"]
        if operator in _OPERATORS:
            parts.append(
                f"{expression['key']} {_OPERATORS[operator]} ({','.join(expression['values'])})"
            )
        else:
            parts.append(_EXISTENCE[operator] + expression["key"])
    return ",".join(parts)


def template_text(template: Mapping[str, Any], dialect: Dialect) -> str:
    """The template as `describe` draws it, with tabs and without the final line break; for `rollout
    history --revision` and dry runs of `undo`."""
    # Imported lazily: most rollout commands do not need it.
    page = Page()
    draw_template(page, Subject({"template": template}, dialect), "template")
    return page.unaligned()
