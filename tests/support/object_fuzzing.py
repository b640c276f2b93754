"""Random requests: valid objects of every kind with errors in them, in every format, with every
verb. The same seed gives the same requests."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from fairlead.base.dialect import Dialect
from fairlead.codec.protobuf import to_message
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.model import ListOf, MapOf, Scalar, Struct, Type
from fairlead.codec.yaml_writer import dump
from fairlead.resources.registry import Resource, Resources
from support.adversarial import sample
from support.client import Client

Object = dict[str, Any]

_POD = {"containers": [{"name": "c", "image": "i"}]}
_TEMPLATE = {
    "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": _POD},
}
_JOB = {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}
# Valid objects, to be mutated.
GOOD: dict[str, Object] = {
    "core/v1/configmaps": {"data": {"a": "b"}},
    "core/v1/secrets": {"data": {"a": "YQ=="}},
    "core/v1/pods": {"spec": _POD},
    "core/v1/services": {"spec": {"ports": [{"port": 80}]}},
    "core/v1/resourcequotas": {"spec": {"hard": {"pods": "1"}}},
    "core/v1/events": {"involvedObject": {"namespace": "{ns}", "name": "a"}},
    "core/v1/replicationcontrollers": {
        "spec": {"selector": {"a": "b"}, "template": _TEMPLATE["template"]}
    },
    "core/v1/limitranges": {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}},
    "apps/v1/deployments": {"spec": _TEMPLATE},
    "apps/v1/daemonsets": {"spec": _TEMPLATE},
    "apps/v1/statefulsets": {"spec": {**_TEMPLATE, "serviceName": "s"}},
    "apps/v1/controllerrevisions": {"data": {"a": 1}, "revision": 1},
    "batch/v1/jobs": {"spec": _JOB},
    "batch/v1/cronjobs": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": _JOB}}},
    "policy/v1/poddisruptionbudgets": {
        "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}
    },
    "rbac/v1/roles": {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    "coordination/v1/leases": {"spec": {"renewTime": "2024-01-02T03:04:05.000001Z"}},
    "networking/v1/ingresses": {"spec": {"defaultBackend": {"service": {
        "name": "s", "port": {"number": 80}}}}},
}  # fmt: skip


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


_TIMES = [
    "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", "0000-01-01T00:00:00Z",
    "0800-01-01T00:00:00.5Z", "2024-02-30T00:00:00Z", "9999-12-31T23:59:59.000001-12:00",
    "0001-01-01T00:00:00.000000+12:00", "2024-01-02T03:04:05Z\n",
]  # fmt: skip
_NUMBERS = [0, -1, 2**31, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 10**30, 1.5, 1e300]
# Almost valid values by type.
TYPED: dict[str, list[Any]] = {
    "Time": _TIMES,
    "MicroTime": _TIMES,
    "Quantity": ["1e99999999999", "1e1500000", "1e-1500000", "1" * 800 + "\nx", "-1", "1.5Ki",
                 "0", "9" * 5000, "." + "1" * 5000, "1n", 10**30, 1.5],
    "IntOrString": ["9" * 5000 + "%", "9" * 5000, "-5%", "101%", "", "http", -1, 2**31],
    "int32": _NUMBERS,
    "int64": _NUMBERS,
    "double": _NUMBERS,
    "bytes": ["YQ=", "====", "LS0tLS1CRUdJTiBBLS0tLS0K", "\n", "YR=="],
    "string": ["", "9" * 5000, "a" * 300, "\0", "é", "10.0.0.1", "metadata.labels['a']", "a['",
               "* * * * *", "@every " + "9" * 400 + "h", "9" * 5000 + "%", "/a/../b", "In",
               "Exists"],
}  # fmt: skip

HOSTILE: list[Callable[[random.Random], Any]] = [
    lambda r: None,
    lambda r: r.choice([0, -1, 2**31, 2**63 - 1, -(2**63), 2**64 - 1, 1.5, 1e300, True, False]),
    lambda r: r.choice(["", " ", "\n", "\0", "a" * 300, "é", "\U0001f600", "../..", "a/b", "%"]),
    lambda r: r.choice(["9" * 5000, "-" + "9" * 5000, "9" * 5000 + "%", "1e99999999999"]),
    lambda r: r.choice(["1e1500000", "1e-1500000", "1" * 800 + "\nx", ".5", "1Ki", "0x1f", "1e9"]),
    lambda r: r.choice(
        ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", "0000-01-01T00:00:00Z",
         "0800-01-01T00:00:00.5Z", "2024-02-30T00:00:00Z", "2024-01-02T03:04:05.1234567Z"]
    ),
    lambda r: r.choice(["* * * * *", "@every 9999999999999h", "1-9999999999999999999999 * * * *"]),
    lambda r: r.choice(["YQ==", "YQ=", "====", "-----BEGIN A-----\n" * 3, "10.0.0.1", "::1"]),
    lambda r: r.choice(["metadata.annotations['" * 3, "metadata.labels['a']", "['']", "a['b"]),
    lambda r: [],
    lambda r: {},
    lambda r: nested(r.choice([1, 5, 100, 230, 236, 240, 244, 249, 251, 253, 300])),
    lambda r: [[], {}, None, "a", 1],
]  # fmt: skip

PATCHES = {
    "application/json-patch+json": "list",
    "application/merge-patch+json": "object",
    "application/strategic-merge-patch+json": "object",
    "application/apply-patch+yaml": "object",
}


@dataclass
class Tally:
    """Counts of the answers, and failures."""

    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


class Fuzzer:
    def __init__(self, client: Client, namespace: str, dialect: Dialect, seed: int) -> None:
        self._client = client
        self._namespace = namespace
        self._dialect = dialect
        self._random = random.Random(seed)
        self._resources = Resources(dialect, BuiltinTypes(dialect))
        self._creatable = [
            resource
            for version in self._resources.group_versions()
            for resource in version.resources.values()
            if "create" in resource.verbs
        ]
        self._number = 0
        self.tally = Tally()

    def run(self, count: int) -> Tally:
        self._prepare()
        ways = (self._create, self._create, self._replace, self._patch, self._patch,
                self._patch_field, self._patch_field, self._ask, self._delete)  # fmt: skip
        for _ in range(count):
            self._number += 1
            self._random.choice(ways)()
        return self.tally

    def _prepare(self) -> None:
        namespace = {"metadata": {"name": self._namespace}}
        self._client.post("/api/v1/namespaces", namespace)
        for key in GOOD:
            body = self._good(key)
            answer = self._client.post(self._path(self._resources.named(key)), body)
            assert answer.status == 201, (key, answer.text)

    def _good(self, key: str) -> Object:
        text = json.dumps({"metadata": {"name": "good"}, **GOOD[key]})
        value: Object = json.loads(text.replace("{ns}", self._namespace))
        return value

    def _path(self, resource: Resource, name: str = "") -> str:
        base = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.api_version}"
        if resource.namespaced:
            base += f"/namespaces/{self._namespace}"
        return f"{base}/{resource.name}" + (f"/{name}" if name else "")

    def _send(self, method: str, path: str, body: Any = None, kind: str = "") -> None:
        headers = {"Content-Type": kind} if kind else {}
        if self._random.random() < 0.2:
            headers["Accept"] = self._random.choice(self._accepts())
        answer = self._client.request(method, path, body, headers=headers)
        self.tally.statuses[answer.status] += 1
        if answer.status >= 500 and answer.status != 504:  # 504: a version in the future
            output = body if isinstance(body, bytes) else str(body).encode()
            self.tally.failures.append(
                f"{answer.status} {method} {path[:300]} {kind} {output[:400]!r} -> "
                + answer.content[:300].decode(errors="replace")
            )

    def _accepts(self) -> list[str]:
        meta = self._dialect.meta_group
        return [
            "application/yaml",
            self._dialect.protobuf_media_type,
            f"application/json;as=Table;v=v1;g={meta}",
            f"application/json;as=PartialObjectMetadata;v=v1;g={meta},application/json",
            "a,a,a",
        ]

    def _object(self, resource: Resource) -> Object:
        """Return an object of a kind, usually with an error in it."""
        if resource.key in GOOD and self._random.random() < 0.5:
            value = self._good(resource.key)
        else:
            value = self._pruned(resource.struct, 5)
            value["metadata"] = {"name": "good", **self._few(value.get("metadata") or {})}
        if self._random.random() < 0.5:
            value["metadata"]["name"] = f"n{self._number}"
        for _ in range(self._random.randint(0, 3)):
            self._mutate(value)
        return value

    def _few(self, value: Object) -> Object:
        kept = self._random.sample(sorted(value), min(2, len(value)))
        return {name: value[name] for name in kept}

    def _pruned(self, node: Type, levels: int) -> Any:
        if isinstance(node, Struct):
            names = sorted(node.fields)
            maximum = self._random.randint(0, min(5, len(names))) if levels > 0 else 0
            chosen = self._random.sample(names, maximum)
            return {name: self._pruned(node.fields[name].type, levels - 1) for name in chosen}
        if isinstance(node, ListOf):
            return [
                self._pruned(node.element, levels - 1) for _ in range(self._random.randint(0, 2))
            ]
        if isinstance(node, MapOf):
            return {"k": self._pruned(node.element, levels - 1)}
        assert isinstance(node, Scalar)
        hostile = TYPED.get(node.name)
        if hostile and self._random.random() < 0.15:
            return self._random.choice(hostile)
        if node.name in ("raw", "any") and self._random.random() < 0.3:
            return nested(self._random.choice([1, 200, 230, 236, 240, 246, 250]))
        return sample(node, self._random.randint(0, 9), 0)

    def _mutate(self, value: Any) -> None:
        """Put a hostile value in one place of a value."""
        while True:
            if isinstance(value, dict) and value:
                key: Any = self._random.choice(sorted(value))
            elif isinstance(value, list) and value:
                key = self._random.randrange(len(value))
            else:
                return
            held = value[key]
            if not isinstance(held, (dict, list)) or not held or self._random.random() < 0.2:
                value[key] = self._random.choice(HOSTILE)(self._random)
                if isinstance(value, dict) and self._random.random() < 0.1:
                    value[str(self._random.choice(HOSTILE)(self._random))[:50]] = held
                return
            value = held

    def _encoded(self, resource: Resource, value: Object) -> tuple[bytes, str]:
        """Encode a value in a random format, sometimes with some bytes changed."""
        value = {"kind": resource.kind, "apiVersion": resource.api_version, **value}
        kind = self._random.choice(["json", "json", "yaml", "protobuf"])
        raw, media_type = json.dumps(value).encode(), "application/json"
        if kind == "yaml":
            raw, media_type = dump(value), "application/yaml"
            if self._random.random() < 0.2:
                tag = self._random.choice(["bool", "int", "timestamp", "binary", "float", "null"])
                raw += b"zz: !!%s x\n" % tag.encode()
        elif kind == "protobuf":
            try:
                raw = to_message(resource.struct, value)
                media_type = self._dialect.protobuf_media_type
            except Exception:  # hostile values may have no protobuf form
                pass
        return (self._bent(raw) if self._random.random() < 0.2 else raw), media_type

    def _bent(self, raw: bytes) -> bytes:
        out = bytearray(raw)
        for _ in range(self._random.randint(1, 4)):
            at = self._random.randrange(len(out) + 1)
            choice = self._random.random()
            if choice < 0.4 and at < len(out):
                out[at] = self._random.randrange(256)
            elif choice < 0.7:
                out[at:at] = self._random.choice([b"\xff", b'"', b"{", b":", b"9" * 30, b"\0"])
            else:
                del out[at : at + self._random.randint(1, 10)]
        return bytes(out)

    def _query(self) -> str:
        wild = ["0", "-1", "1", "9" * 5000, "abc", "", "%00", "%ff", "1.5", "true", "All"]
        names = ["dryRun", "fieldManager", "fieldValidation", "pretty", "force", "timeout"]
        chosen = self._random.sample(names, self._random.randint(0, 2))
        return "&".join(f"{name}={self._random.choice(wild)}" for name in chosen)

    def _create(self) -> None:
        resource = self._random.choice(self._creatable)
        body, kind = self._encoded(resource, self._object(resource))
        self._send("POST", f"{self._path(resource)}?{self._query()}", body, kind)

    def _target(self) -> Resource:
        return self._resources.named(self._random.choice(sorted(GOOD)))

    def _replace(self) -> None:
        resource = self._target()
        suffix = self._random.choice(["good", "good", "good/status", "good/scale"])
        body, kind = self._encoded(resource, self._object(resource))
        self._send("PUT", f"{self._path(resource, suffix)}?{self._query()}", body, kind)

    def _patch(self) -> None:
        resource = self._target()
        kind = self._random.choice(sorted(PATCHES))
        body = self._operations() if PATCHES[kind] == "list" else self._object(resource)
        if kind == "application/apply-patch+yaml" and isinstance(body, dict):
            body = {"kind": resource.kind, "apiVersion": resource.api_version, **body}
        raw = json.dumps(body).encode()
        if self._random.random() < 0.2:
            raw = self._bent(raw)
        query = self._random.choice(["fieldManager=m&force=true", self._query()])
        suffix = self._random.choice(["good", "good", "good/status", "good/scale"])
        self._send("PATCH", f"{self._path(resource, suffix)}?{query}", raw, kind)

    def _patch_field(self) -> None:
        """Set one field of an existing object or of its status to an almost valid value."""
        resource = self._target()
        body = json.dumps(self._one_field(resource.struct, 6)).encode()
        path = self._path(resource, self._random.choice(["good", "good/status"]))
        form = self._random.choice(["merge-patch", "strategic-merge-patch"])
        self._send("PATCH", f"{path}?dryRun=All", body, f"application/{form}+json")

    def _one_field(self, node: Type, levels: int) -> Any:
        if not levels or self._random.random() < 0.05:
            return self._random.choice([None, {}, [], "", -1])
        if isinstance(node, Struct) and node.fields:
            name = self._random.choice(sorted(node.fields))
            return {name: self._one_field(node.fields[name].type, levels - 1)}
        if isinstance(node, ListOf):
            return [self._one_field(node.element, levels - 1)]
        if isinstance(node, MapOf):
            return {"k": self._one_field(node.element, levels - 1)}
        assert isinstance(node, (Scalar, Struct))
        return self._random.choice([None, -1, "", *TYPED.get(node.name, ["x"])])

    def _operations(self) -> list[Object]:
        places = ["/metadata/labels", "/metadata", "/spec", "/data", "/spec/template", "/data/a",
                  "", "/", "/spec/ports/0", "/spec/ports/" + "9" * 5000, "/spec/ports/-",
                  "/metadata/annotations/a~1b", "/metadata/finalizers/-1"]  # fmt: skip
        kinds = ["add", "replace", "remove", "test", "move", "copy", "x"]
        return [
            {
                "op": self._random.choice(kinds),
                "path": self._random.choice(places),
                "from": self._random.choice(places),
                "value": self._random.choice(HOSTILE)(self._random),
            }
            for _ in range(self._random.randint(1, 4))
        ]

    def _ask(self) -> None:
        resource = self._target()
        wild = ["0", "1", "-1", "9" * 5000, "abc", "%00", "a in (b", "!a", "a>1", "metadata.name=a",
                "a=b,c!=d", "\\", "=", "é", "((",
                "eyJ2IjoibWV0YS5mYWlybGVhZC92MSIsInJ2IjoxfQ"]  # fmt: skip
        names = ["limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector",
                 "fieldSelector", "timeoutSeconds", "includeObject", "pretty"]  # fmt: skip
        chosen = self._random.sample(names, self._random.randint(0, 3))
        query = "&".join(f"{name}={quote(self._random.choice(wild))}" for name in chosen)
        name = self._random.choice(["", "", "good", "good/status", "good/scale", "good%00"])
        self._send("GET", f"{self._path(resource, name)}?{query}")

    def _delete(self) -> None:
        resource = self._target()
        value: Object = {
            "gracePeriodSeconds": 0,
            "propagationPolicy": "Orphan",
            "preconditions": {"uid": "a", "resourceVersion": "1"},
            "dryRun": ["All"],
        }
        self._mutate(value)
        raw = json.dumps({"kind": "DeleteOptions", "apiVersion": "v1", **value}).encode()
        if self._random.random() < 0.3:
            raw = self._bent(raw)
        name = self._random.choice([f"n{self._number - 5}", "nothing"])
        self._send("DELETE", self._path(resource, name), raw, "application/json")
