"""Draws volumes of pods and sources of persistent volumes."""

from __future__ import annotations

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.claims import draw_claim_of_pod
from fairlead.cli.describe.parts.metadata import shortened
from fairlead.cli.describe.parts.values import NIL, NONE
from fairlead.cli.describe.parts.volume_table import PERSISTENT_SOURCES, SOURCES

_MAX_LINE_BYTES = 140  # bytes of an attribute on one line


def draw_volumes(page: Page, subject: Subject, volumes: list[Fields], level: int = 0) -> None:
    """Draw the volumes of a pod, or of a template with level 1."""
    if not volumes:
        page.pair("Volumes", NONE, level)
        return
    page.write("Volumes:", level)
    for volume in volumes:
        page.write(f"{' ' * level}{volume.text('name')}:", 1)
        _draw_source(page, subject, volume)


def _draw_source(page: Page, subject: Subject, volume: Fields) -> None:
    if volume.has("ephemeral"):
        page.pair("Type", f"EphemeralVolume ({_EPHEMERAL})", 2)
        if volume.has("ephemeral.volumeClaimTemplate"):
            template = volume.part("ephemeral.volumeClaimTemplate")
            draw_claim_of_pod(page, template, subject.dialect)
    elif volume.has("downwardAPI"):
        page.pair("Type", "DownwardAPI (files with facts about the pod)", 2)
        _draw_downward(page, volume.items("downwardAPI.items"))
    elif volume.has("projected"):
        page.pair("Type", f"Projected ({_PROJECTED})", 2)
        for source in volume.items("projected.sources"):
            _draw_projected(page, source)
    else:
        for name, kind in SOURCES.items():
            if volume.has(name):
                kind.draw(page, volume.part(name))
                if name == "csi":
                    draw_attributes(page, volume.part(name))
                return
        page.write("<unknown>", 1)


_EPHEMERAL = "a claim of the pod itself, made and deleted with it"
_PROJECTED = "several sources in one folder"


def draw_persistent_source(page: Page, spec: Fields) -> None:
    for name, source in PERSISTENT_SOURCES.items():
        if spec.has(name):
            source.draw(page, spec.part(name))
            if name == "csi":
                draw_attributes(page, spec.part(name))
            return
    page.write("<unknown>", 1)


def draw_attributes(page: Page, source: Fields) -> None:
    """Draw the attributes for the CSI driver."""
    lines = [
        f"    {shortened(f'{key}={value}', _MAX_LINE_BYTES)}"
        for key, value in source.map("volumeAttributes").items()
    ]
    page.entries("VolumeAttributes", lines, 2)


def _draw_downward(page: Page, items: list[Fields]) -> None:
    page.write("Items:", 2)
    for item in items:
        for path in ("fieldRef.fieldPath", "resourceFieldRef.resource"):
            if item.has(path):
                page.write(f"{item.text(path)} -> {item.text('path')}", 3)


def _draw_projected(page: Page, source: Fields) -> None:
    if source.has("secret"):
        page.pair("SecretName", source.text("secret.name"), 2)
        page.pair("SecretOptionalName", source.text("secret.optional", NIL), 2)
    elif source.has("downwardAPI"):
        page.pair("DownwardAPI", "true", 2)
    elif source.has("configMap"):
        page.pair("ConfigMapName", source.text("configMap.name"), 2)
        page.pair("ConfigMapOptional", source.text("configMap.optional", NIL), 2)
    elif source.has("serviceAccountToken"):
        seconds = source.number("serviceAccountToken.expirationSeconds")
        page.pair("TokenExpirationSeconds", seconds, 2)
