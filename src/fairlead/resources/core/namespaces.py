"""The behaviour of Namespace: labelled with its own name, deleted after it is finalized."""

from __future__ import annotations

from fairlead.codec.types.names import dns_label, qualified_name
from fairlead.resources.behaviour import Behaviour, Object, keep
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.metadata import STANDARD_FINALIZERS, UNQUALIFIED, check_metadata_update

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

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        """`finalize` changes the spec, which holds nothing but finalizers; `status` changes the
        status."""
        keep(value, old, "status" if subresource == "finalize" else "spec")

    def holds_back(self, value: Object) -> bool:
        return bool((value.get("spec") or {}).get("finalizers"))

    def prepare_delete(self, value: Object, context: Context) -> None:
        value["metadata"].pop("deletionGracePeriodSeconds", None)
        value["status"] = {**(value.get("status") or {}), "phase": "Terminating"}

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        for name in value["spec"].get("finalizers") or ():
            _check_finalizer(name, "spec.finalizers", causes)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        self.check_create(value, causes, context)
        check_metadata_update(value["metadata"], old["metadata"], causes)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        if subresource == "finalize":
            for index, name in enumerate(value["spec"].get("finalizers") or ()):
                _check_finalizer(name, f"spec.finalizers[{index}]", causes)
        else:
            _check_phase(value, causes)


def _check_finalizer(name: str, path: str, causes: Causes) -> None:
    causes.invalid_each(path, name, qualified_name(name))
    if "/" not in name and name not in STANDARD_FINALIZERS:
        causes.invalid(path, name, UNQUALIFIED)


def _check_phase(value: Object, causes: Causes) -> None:
    phase = value["status"].get("phase", "")
    ending = value["metadata"].get("deletionTimestamp") is not None
    expected, state = ("Terminating", "not empty") if ending else ("Active", "empty")
    if phase != expected:
        detail = f"may only be '{expected}' if `deletionTimestamp` is {state}"
        causes.invalid("status.Phase", phase, detail)
