"""Layouts of persistent volumes and claims."""

from __future__ import annotations

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.claims import access_modes, draw_claim, phase, storage_class
from fairlead.cli.describe.parts.conditions import draw_conditions_with_times
from fairlead.cli.describe.parts.metadata import draw_cluster_head
from fairlead.cli.describe.parts.quantities import quantity_text
from fairlead.cli.describe.parts.selectors import node_expression
from fairlead.cli.describe.parts.volume_sources import draw_persistent_source
from fairlead.cli.describe.parts.words import NONE, listed
from fairlead.cli.describe.queries import PODS, Found, Queries


def _draw_volume(page: Page, volume: Subject) -> None:
    draw_cluster_head(page, volume)
    claim = volume.part("spec.claimRef")
    claimed = f"{claim.text('namespace')}/{claim.text('name')}" if claim.has() else ""
    page.pairs(
        ("Finalizers", listed(volume.texts("metadata.finalizers"))),
        ("StorageClass", storage_class(volume, volume.dialect)),
        ("Status", phase(volume)),
        ("Claim", claimed),
        ("Reclaim Policy", volume.text("spec.persistentVolumeReclaimPolicy")),
        ("Access Modes", access_modes(volume.texts("spec.accessModes"))),
    )
    page.pairs_if(("VolumeMode", volume.text("spec.volumeMode")))
    page.pair("Capacity", quantity_text(volume.part("spec.capacity.storage")))
    _draw_affinity(page, volume.part("spec.nodeAffinity.required"))
    page.pair("Message", volume.text("status.message"))
    page.write("Source:")
    draw_persistent_source(page, volume.part("spec"))


def _draw_affinity(page: Page, required: Fields) -> None:
    """Draw the nodes that can access the volume."""
    page.pair("Node Affinity", "" if required.has() else NONE)
    if required.has():
        terms = required.items("nodeSelectorTerms")
        page.pair("Required Terms", "" if terms else NONE, 1)
        for at, term in enumerate(terms):
            lines = [node_expression(one) for one in term.items("matchExpressions")]
            page.entries(f"Term {at}", lines, 2)


async def _pods(claim: Subject, asker: Queries) -> Found:
    return await asker.all(PODS, claim.namespace)


def _draw_claim(page: Page, claim: Subject) -> None:
    draw_claim(page, claim, claim.dialect)
    found = claim.found("pods")
    if found.error is not None:
        page.pair("Used By", "not authorized")
    else:
        page.entries("Used By", sorted(_users(claim, found.items)))
    draw_conditions_with_times(page, claim, "LastProbeTime")


def _users(claim: Subject, pods: list[Fields]) -> list[str]:
    """The pods that mount the claim, once per volume."""
    return [
        pod.text("metadata.name")
        for pod in pods
        for volume in pod.items("spec.volumes")
        if volume.text("persistentVolumeClaim.claimName") == claim.name
    ]


PERSISTENT_VOLUME = Layout(_draw_volume)
PERSISTENT_VOLUME_CLAIM = Layout(_draw_claim, {"pods": _pods})
