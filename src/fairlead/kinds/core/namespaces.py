"""Namespace: labelled with its own name, finalized before it goes."""

from __future__ import annotations

from fairlead.kinds.behaviour import Behaviour, Object, keep
from fairlead.kinds.context import Context
from fairlead.schema.names import dns_label

CONTENT_FINALIZER = "kubernetes"


class NamespaceBehaviour(Behaviour):
    name_rule = staticmethod(dns_label)

    def fill_defaults(self, value: Object, context: Context) -> None:
        metadata = value["metadata"]
        if metadata.get("name"):
            key = context.dialect.label("@/metadata.name")
            metadata["labels"] = {**(metadata.get("labels") or {}), key: metadata["name"]}

    def prepare_create(self, value: Object, context: Context) -> None:
        value["status"] = {"phase": "Active"}
        finalizers = value.setdefault("spec", {}).get("finalizers") or []
        if CONTENT_FINALIZER not in finalizers:
            value["spec"]["finalizers"] = [*finalizers, CONTENT_FINALIZER]

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        keep(value, old, "status")
        keep(value, old, "spec")

    def prepare_delete(self, value: Object, context: Context) -> None:
        value["metadata"].pop("deletionGracePeriodSeconds", None)
        value["status"] = {**(value.get("status") or {}), "phase": "Terminating"}
