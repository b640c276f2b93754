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

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        self.check_create(value, causes, context)
