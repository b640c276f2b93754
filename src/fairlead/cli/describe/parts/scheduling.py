"""Draws taints, tolerations and topology spread constraints."""

from __future__ import annotations

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.selectors import selector_or_none


def draw_taints(page: Page, taints: list[Fields]) -> None:
    ordered = sorted(taints, key=lambda taint: f"{taint.text('effect')},{taint.text('key')}")
    page.entries("Taints", [_taint(taint) for taint in ordered])


def _taint(taint: Fields) -> str:
    key, value, effect = taint.text("key"), taint.text("value"), taint.text("effect")
    if not effect:
        return f"{key}={value}:" if value else key
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def draw_tolerations(page: Page, name: str, tolerations: list[Fields]) -> None:
    ordered = sorted(tolerations, key=lambda toleration: toleration.text("key"))
    page.entries(name, [_toleration(toleration) for toleration in ordered])


def _toleration(toleration: Fields) -> str:
    key, value = toleration.text("key"), toleration.text("value")
    effect = toleration.text("effect")
    text = key + (f"={value}" if value else "") + (f":{effect}" if effect else "")
    if toleration.text("operator") == "Exists" and not value:
        text += " op=Exists" if key or effect else "op=Exists"
    if toleration.has("tolerationSeconds"):
        text += f" for {toleration.number('tolerationSeconds')}s"
    return text


def draw_spreading(page: Page, constraints: list[Fields], level: int) -> None:
    if constraints:
        ordered = sorted(constraints, key=lambda constraint: constraint.text("topologyKey"))
        lines = [_constraint(constraint) for constraint in ordered]
        page.entries("Topology Spread Constraints", lines, level)


def _constraint(constraint: Fields) -> str:
    where = f"{constraint.text('topologyKey')}:{constraint.text('whenUnsatisfiable')}"
    text = f"{where} when max skew {constraint.number('maxSkew')} is exceeded"
    if constraint.has("labelSelector"):
        text += f" for selector {selector_or_none(constraint.part('labelSelector'))}"
    return text
