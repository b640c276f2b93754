"""The behaviour of ConfigMap: text and bytes by key, at most 1 MiB."""

from __future__ import annotations

from base64 import b64decode

from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.metadata import check_metadata_update
from fairlead.resources.rules import config_key_errors

MAX_DATA_BYTES = 1024 * 1024
FROZEN = "field is immutable when `immutable` is set"


class ConfigMapBehaviour(Behaviour):
    def check(self, value: Object, causes: Causes, context: Context) -> None:
        data, binary = value.get("data") or {}, value.get("binaryData") or {}
        size = 0
        for key, text in data.items():
            if errors := config_key_errors(key):
                causes.invalid_each(f"data[{key}]", key, errors)
            if key in binary:
                causes.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
            size += len(text) if text.isascii() else len(text.encode())
        for key, encoded in binary.items():
            causes.invalid_each(f"binaryData[{key}]", key, config_key_errors(key))
            size += len(b64decode(encoded))
        if size > MAX_DATA_BYTES:
            causes.too_long("[]", MAX_DATA_BYTES)  # the reference's path of the whole object

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        check_frozen(value, old, ("data", "binaryData"), causes)
        self.check_create(value, causes, context)


def check_frozen(value: Object, old: Object, names: tuple[str, ...], causes: Causes) -> None:
    """If the old object is immutable, it must stay so and these fields must not change."""
    if not old.get("immutable"):
        return
    if not value.get("immutable"):
        causes.forbidden("immutable", FROZEN)
    for name in names:
        if (value.get(name) or None) != (old.get(name) or None):
            causes.forbidden(name, FROZEN)
