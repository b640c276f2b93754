"""Layouts of roles and bindings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import draw_cluster_head
from fairlead.cli.describe.parts.values import listed

_MAX_LINES = 20_000  # lines per role: a short role can expand to any number


class Permission(NamedTuple):
    """The target of verbs: a resource, one named object, or a path."""

    group: str = ""
    resource: str = ""
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """The resource with its group: `deployments.apps/scale`."""
        name, slash, below = self.resource.partition("/")
        return f"{name}.{self.group}{slash}{below}" if self.group else self.resource


def _draw_role(page: Page, role: Subject) -> None:
    draw_cluster_head(page, role)
    page.write("PolicyRule:")
    permissions = list(islice(_permissions(role.items("rules")), _MAX_LINES + 1))
    rows = [
        (key.target, listed(key.paths), listed(key.names), listed(verbs))
        for key, verbs in _together(permissions[:_MAX_LINES])
    ]
    page.table(("Resources", "Non-Resource URLs", "Resource Names", "Verbs"), rows)
    if len(permissions) > _MAX_LINES:
        page.write("...", 1)


def _permissions(rules: Sequence[Fields]) -> Iterator[tuple[Permission, list[str]]]:
    """Split rules into single permissions."""
    for rule in rules:
        verbs = rule.texts("verbs")
        names: list[tuple[str, ...]] = [(name,) for name in rule.texts("resourceNames")]
        for group in rule.texts("apiGroups"):
            for resource in rule.texts("resources"):
                for name in names or [()]:
                    yield Permission(group, resource, name), verbs
        for path in rule.texts("nonResourceURLs"):
            for verb in verbs:
                yield Permission(paths=(path,)), [verb]


def _together(
    permissions: Sequence[tuple[Permission, list[str]]],
) -> list[tuple[Permission, list[str]]]:
    """Merge the verbs of the same resource; paths are not merged. Sorted by the text of the
    rules."""
    verbs: dict[Permission, list[str]] = {}
    apart: list[tuple[Permission, list[str]]] = []
    for key, added in permissions:
        if key.paths:
            apart.append((key, added))
        elif added:
            verbs.setdefault(key, []).extend(added)
    return sorted([*apart, *verbs.items()], key=_order)


def _order(entry: tuple[Permission, list[str]]) -> str:
    key, verbs = entry
    groups, resources = ([], []) if key.paths else ([key.group], [key.resource])
    return (
        f"Verbs:{listed(verbs)},APIGroups:{listed(groups)},Resources:{listed(resources)},"
        f"ResourceNames:{listed(key.names)},NonResourceURLs:{listed(key.paths)},"
    )


def _draw_binding(page: Page, binding: Subject) -> None:
    draw_cluster_head(page, binding)
    page.write("Role:")
    page.pair("Kind", binding.text("roleRef.kind"), 1)
    page.pair("Name", binding.text("roleRef.name"), 1)
    page.write("Subjects:")
    rows = (
        [subject.text(name) for name in ("kind", "name", "namespace")]
        for subject in binding.items("subjects")
    )
    page.table(("Kind", "Name", "Namespace"), rows)


ROLE = Layout(_draw_role, events=None)
BINDING = Layout(_draw_binding, events=None)
