"""Draws pod templates."""

from __future__ import annotations

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.containers import draw_containers
from fairlead.cli.describe.parts.metadata import draw_annotations, draw_labels
from fairlead.cli.describe.parts.scheduling import draw_spreading
from fairlead.cli.describe.parts.volume_sources import draw_volumes

_NO_POD = Fields(None)


def draw_template(page: Page, subject: Subject, path: str = "spec.template") -> None:
    page.write("Pod Template:")
    template = subject.part(path)
    if not template.has():
        page.write("<unset>", 1)
        return
    spec = template.part("spec")
    draw_labels(page, "  Labels", template.map("metadata.labels"))
    if template.map("metadata.annotations"):
        draw_annotations(page, "  Annotations", subject, f"{path}.metadata")
    page.pairs_if(("Service Account", spec.text("serviceAccountName")), level=1)
    if spec.items("initContainers"):
        draw_containers(page, "Init Containers", spec.items("initContainers"), [], _NO_POD)
    draw_containers(page, "Containers", spec.items("containers"), [], _NO_POD)
    draw_volumes(page, subject, spec.items("volumes"), level=1)
    draw_spreading(page, spec.items("topologySpreadConstraints"), 1)
    page.pairs_if(("Priority Class Name", spec.text("priorityClassName")), level=1)
