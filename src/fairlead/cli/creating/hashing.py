"""Names that change with the content: a hash of it behind them."""

from __future__ import annotations

from hashlib import sha256

from fairlead.cli.creating.form import Object
from fairlead.fields.values import compact_json

_LETTERS = 10
# So that no hash spells a word.
_HARMLESS = str.maketrans({"0": "g", "1": "h", "3": "k", "a": "m", "e": "t"})


def with_hash(value: Object) -> Object:
    """A config map or secret under its name with the hash, which is the one that other tools
    compute for the same content."""
    held: Object = {"kind": value["kind"], "name": value["metadata"]["name"]}
    held["data"] = value.get("data") or {}
    if value["kind"] == "Secret":
        held["type"] = value.get("type", "")
    elif value.get("binaryData"):
        held["binaryData"] = value["binaryData"]
    digest = sha256(compact_json(held).encode()).hexdigest()[:_LETTERS].translate(_HARMLESS)
    return {**value, "metadata": {**value["metadata"], "name": f"{held['name']}-{digest}"}}
