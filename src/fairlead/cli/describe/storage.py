"""Layouts of storage classes and CSI nodes."""

from __future__ import annotations

from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import draw_cluster_head, one_line
from fairlead.cli.describe.parts.selectors import node_expression
from fairlead.cli.describe.parts.times import in_full
from fairlead.cli.describe.parts.words import NONE, listed, yes_or_no

_DEFAULT_MARKS = ("storageclass.@/is-default-class", "storageclass.beta.@/is-default-class")


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
        for at, term in enumerate(terms):
            lines = [node_expression(one) for one in term.items("matchLabelExpressions")]
            page.entries(f"Term {at}", lines, 1)


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
CSI_NODE = Layout(_draw_node)
