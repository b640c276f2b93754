"""Layouts of persistent volumes, claims, their classes, and CSI nodes."""

from __future__ import annotations

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.claims import access_modes, draw_claim, phase, storage_class
from fairlead.cli.describe.parts.metadata import (
    draw_cluster_head,
    draw_conditions_with_times,
    node_expression,
    one_line,
)
from fairlead.cli.describe.parts.quantities import quantity_text
from fairlead.cli.describe.parts.values import NONE, in_full, listed, yes_or_no
from fairlead.cli.describe.parts.volume_sources import draw_persistent_source
from fairlead.cli.describe.queries import PODS, Queries, QueryResult

_DEFAULT_MARKS = ("storageclass.@/is-default-class", "storageclass.beta.@/is-default-class")


def _draw_volume(page: Page, volume: Subject) -> None:
    draw_cluster_head(page, volume)
    claim = volume.part("spec.claimRef")
    claimed = f"{claim.text('namespace')}/{claim.text('name')}" if claim.has() else ""
    page.pairs(
        ("Finalizers", listed(volume.texts("metadata.finalizers"))),
        ("StorageClass", storage_class(volume, volume.dialect)),
    )
    page.pairs_if(("VolumeAttributesClass", volume.text("spec.volumeAttributesClassName")))
    page.pairs(
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
        for index, term in enumerate(terms):
            lines = [node_expression(expression) for expression in term.items("matchExpressions")]
            page.entries(f"Term {index}", lines, 2)


async def _pods(claim: Subject, queries: Queries) -> QueryResult:
    return await queries.list(PODS, claim.namespace)


def _draw_claim(page: Page, claim: Subject) -> None:
    draw_claim(page, claim, claim.dialect)
    result = claim.found("pods")
    if result.error is not None:
        page.pair("Used By", "not authorized")
    else:
        page.entries("Used By", sorted(_users(claim, result.items)))
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


# Layouts of classes and CSI nodes.


def _draw_class(page: Page, storage_class: Subject) -> None:
    label = storage_class.dialect.label
    marks = [storage_class.annotations.get(label(mark)) for mark in _DEFAULT_MARKS]
    page.pairs(
        ("Name", storage_class.name),
        ("IsDefaultClass", "Yes" if "true" in marks else "No"),
        ("Annotations", one_line(storage_class.annotations)),
        ("Provisioner", storage_class.text("provisioner")),
        ("Parameters", one_line(storage_class.map("parameters"))),
        ("AllowVolumeExpansion", yes_or_no(storage_class.at("allowVolumeExpansion"))),
    )
    options = storage_class.texts("mountOptions")
    page.write("MountOptions:" if options else f"MountOptions:\t{NONE}")
    for option in options:
        page.write(option, 1)
    page.pairs_if(
        ("ReclaimPolicy", storage_class.text("reclaimPolicy")),
        ("VolumeBindingMode", storage_class.text("volumeBindingMode")),
    )
    if storage_class.has("allowedTopologies"):
        terms = storage_class.items("allowedTopologies")
        page.pair("AllowedTopologies", "" if terms else NONE)
        for index, term in enumerate(terms):
            lines = [
                node_expression(expression) for expression in term.items("matchLabelExpressions")
            ]
            page.entries(f"Term {index}", lines, 1)


def _draw_attributes_class(page: Page, attributes_class: Subject) -> None:
    page.pairs(
        ("Name", attributes_class.name),
        ("Annotations", one_line(attributes_class.annotations)),
        ("DriverName", attributes_class.text("driverName")),
        ("Parameters", one_line(attributes_class.map("parameters"))),
    )


def _draw_node(page: Page, node: Subject) -> None:
    draw_cluster_head(page, node)
    page.pair("CreationTimestamp", in_full(node.at("metadata.creationTimestamp")))
    page.write("Spec:")
    if node.has("spec.drivers"):
        page.write("Drivers:", 1)
    for driver in node.items("spec.drivers"):
        page.write(f"{driver.text('name')}:", 2)
        page.pair("Node ID", driver.text("nodeID"), 3)
        if driver.has("allocatable.count"):
            page.write("Allocatables:", 3)
            page.pair("Count", driver.number("allocatable.count"), 4)
        if driver.has("topologyKeys"):
            page.pair("Topology Keys", listed(driver.texts("topologyKeys")), 3)


STORAGE_CLASS = Layout(_draw_class)
ATTRIBUTES_CLASS = Layout(_draw_attributes_class)
CSI_NODE = Layout(_draw_node)
