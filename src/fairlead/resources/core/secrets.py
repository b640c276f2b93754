"""The behaviour of Secret: bytes by key, at most 1 MiB; known types require certain keys."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable

import orjson

from fairlead.codec.json_syntax import describe_json_error
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.config_maps import MAX_DATA_BYTES, check_frozen
from fairlead.resources.core.key_pairs import key_pair_problem
from fairlead.resources.metadata import check_metadata_update
from fairlead.resources.rules import config_key_errors, immutable

Data = dict[str, str]
TypeRule = Callable[[Data, Causes], None]

CERTIFICATE, PRIVATE_KEY = "tls.crt", "tls.key"


def _all_of(*keys: str) -> TypeRule:
    def check(data: Data, causes: Causes) -> None:
        for key in keys:
            if key not in data:
                causes.required(f"data[{key}]")

    return check


def _one_of(*keys: str) -> TypeRule:
    def check(data: Data, causes: Causes) -> None:
        if not any(key in data for key in keys):
            for key in keys:
                causes.required(f"data[{key}]")

    return check


def _not_empty(key: str) -> TypeRule:
    def check(data: Data, causes: Causes) -> None:
        if not data.get(key):
            causes.required(f"data[{key}]")

    return check


def _json_object(key: str) -> TypeRule:
    def check(data: Data, causes: Causes) -> None:
        if key not in data:
            causes.required(f"data[{key}]")
            return
        error = _json_object_error(b64decode(data[key]))
        if error:
            causes.invalid(f"data[{key}]", "<secret contents redacted>", error)

    return check


_JSON_KINDS: dict[type, str] = {bool: "bool", str: "string", list: "array"}


def _json_object_error(raw: bytes) -> str:
    try:
        parsed = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return describe_json_error(raw)
    if parsed is None or isinstance(parsed, dict):
        return ""
    kind = _JSON_KINDS.get(type(parsed), "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


# The known types, with `@` for the domain, and the rule for the data of each.
TYPE_RULES: dict[str, TypeRule] = {
    "@/dockercfg": _json_object(".dockercfg"),
    "@/dockerconfigjson": _json_object(".dockerconfigjson"),
    "@/basic-auth": _one_of("username", "password"),
    "@/ssh-auth": _not_empty("ssh-privatekey"),
    "@/tls": _all_of(CERTIFICATE, PRIVATE_KEY),
}


class SecretBehaviour(Behaviour):
    def fill_defaults(self, value: Object, context: Context) -> None:
        """Move `stringData` into `data`; responses never show it."""
        texts = value.pop("stringData", None)
        if texts:
            encoded = {key: b64encode(text.encode()).decode() for key, text in texts.items()}
            value["data"] = {**(value.get("data") or {}), **encoded}

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        data: Data = value.get("data") or {}
        size = 0
        for key, encoded in data.items():
            causes.invalid_each(f"data[{key}]", key, config_key_errors(key))
            size += len(b64decode(encoded))
        if size > MAX_DATA_BYTES:
            causes.too_long("data", MAX_DATA_BYTES)
        self._check_type(value, data, causes, context)

    def _check_type(self, value: Object, data: Data, causes: Causes, context: Context) -> None:
        label = context.dialect.label
        if value["type"] == label("@/service-account-token"):
            account = label("@/service-account.name")
            if not (value["metadata"].get("annotations") or {}).get(account):
                causes.required(f"metadata.annotations[{account}]")
        for name, check in TYPE_RULES.items():
            if value["type"] == label(name):
                check(data, causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        is_tls = value["type"] == context.dialect.label("@/tls")
        if is_tls and context.gates["TLSSecretWarnings"]:
            data: Data = value.get("data") or {}
            pair = (b64decode(data.get(key) or "") for key in (CERTIFICATE, PRIVATE_KEY))
            if problem := key_pair_problem(*pair):
                context.warn(problem)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        immutable(value["type"], old["type"], "type", causes)
        check_frozen(value, old, ("data",), causes)
        self.check_create(value, causes, context)
