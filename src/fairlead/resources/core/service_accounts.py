"""The behaviour of ServiceAccount; of the secrets that it may mount only names are stored."""

from __future__ import annotations

from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.metadata import check_metadata_update


def _keep_names(value: Object) -> None:
    secrets = value.get("secrets")
    if secrets:
        value["secrets"] = [
            {"name": secret["name"]} if secret.get("name") else {} for secret in secrets
        ]


class ServiceAccountBehaviour(Behaviour):
    def prepare_create(self, value: Object, context: Context) -> None:
        _keep_names(value)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        _keep_names(value)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if not context.gates["MountableSecretsDeprecated"]:
            return
        name = context.dialect.label("@/enforce-mountable-secrets")
        before = (old["metadata"].get("annotations") or {}) if old is not None else {}
        if name in (value["metadata"].get("annotations") or {}) and name not in before:
            context.warn(
                f"metadata.annotations[{name}]: deprecated in v1.32+; prefer separate namespaces"
                " to isolate access to mounted secrets"
            )

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        self.check_create(value, causes, context)
