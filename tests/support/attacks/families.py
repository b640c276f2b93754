"""Families of attack cases, each a function of a few numbers.

The search generates the numbers; the ranges are bounded by the size of a request (3 MiB) or a
definition (1.5 MiB). A number called `choice` selects a shape from a list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fairlead.base.dialect import Dialect
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.model import ListOf, MapOf, Struct
from fairlead.resources.registry import Resource, Resources
from support.attacks.target import NAMESPACE, Call, Case
from support.client import Object

GROUP = "attack.example.com"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;g=meta.{};v=v1"

Numbers = dict[str, int]
Build = Callable[[Dialect, Numbers], Case]


@dataclass(frozen=True, slots=True)
class Family:
    ranges: dict[str, tuple[int, int]]
    build: Build


FAMILIES: dict[str, Family] = {}


def family(**ranges: tuple[int, int]) -> Callable[[Build], Build]:
    def add(build: Build) -> Build:
        FAMILIES[build.__name__] = Family(ranges, build)
        return build

    return add


def core(plural: str) -> str:
    return f"/api/v1/namespaces/{NAMESPACE}/{plural}"


def dry(path: str) -> str:
    return f"{path}?dryRun=All"


# Definitions and their objects


def definition(
    dialect: Dialect, plural: str, spec: Object, columns: list[Object] | None = None
) -> Call:
    version: Object = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        "subresources": {"status": {}},
    }
    if columns:
        version["additionalPrinterColumns"] = columns
    names = {"plural": plural, "kind": plural.capitalize()}
    group = dialect.group_name("apiextensions.@")
    body = {
        "apiVersion": f"{group}/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    return Call("POST", f"/apis/{group}/v1/customresourcedefinitions", body)


def custom_path(plural: str) -> str:
    return f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/{plural}"


def custom(plural: str, spec: Any, name: str = "a") -> Object:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": plural.capitalize(),
        "metadata": {"name": name},
        "spec": spec,
    }


def create_custom(plural: str, spec: Any) -> Call:
    return Call("POST", dry(custom_path(plural)), custom(plural, spec))


def listed(items: Object, **more: Any) -> Object:
    return {"type": "object", "properties": {"l": {"type": "array", "items": items, **more}}}


def named(stem: str, numbers: Numbers, *of: str) -> str:
    return stem + "".join(f"x{numbers[name]}" for name in of)


@family(items=(1, 100_000), size=(1, 50_000), fields=(1, 200))
def defaults_of_items(dialect: Dialect, n: Numbers) -> Case:
    plural = named("defs", n, "size", "fields")
    each = max(n["size"] // n["fields"], 1)
    field = {"type": "string", "default": "d" * each}
    schema = listed({"type": "object", "properties": {f"f{i}": field for i in range(n["fields"])}})
    calls = [create_custom(plural, {"l": [{}] * n["items"]})]
    return Case(calls, [definition(dialect, plural, schema)])


@family(items=(1, 20_000), depth=(1, 12), width=(1, 20))
def defaults_of_defaults(dialect: Dialect, n: Numbers) -> Case:
    """The default of each level holds items of the next level, whose defaults are filled in,
    too."""
    plural = named("nests", n, "depth", "width")
    schema: Object = {"type": "string", "default": "leaf"}
    for _ in range(n["depth"]):
        holder = {"type": "object", "properties": {"a": schema}}
        schema = {"type": "array", "items": holder, "default": [{}] * n["width"]}
    spec = listed({"type": "object", "properties": {"a": schema}})
    calls = [create_custom(plural, {"l": [{}] * n["items"]})]
    return Case(calls, [definition(dialect, plural, spec)])


@family(items=(1, 100_000), width=(1, 8_000), choice=(0, 3))
def wide_types(dialect: Dialect, n: Numbers) -> Case:
    plural = named("wides", n, "width", "choice")
    leaves: list[Object] = [
        {"type": "integer"},
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "string", "nullable": True, "pattern": "^a*$"},
        {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}},
    ]
    leaf = leaves[n["choice"]]
    item: Object = {"type": "object", "properties": {f"f{i}": leaf for i in range(n["width"])}}
    if n["choice"] == 0:
        item["required"] = [f"f{i}" for i in range(n["width"])]
    calls = [create_custom(plural, {"l": [{}] * n["items"]})]
    return Case(calls, [definition(dialect, plural, listed(item))])


@family(items=(1, 50_000), conditions=(1, 500), nesting=(1, 5), choice=(0, 3))
def conditions(dialect: Dialect, n: Numbers) -> Case:
    plural = named("juncts", n, "conditions", "nesting", "choice")
    word = ("anyOf", "oneOf", "allOf", "not")[n["choice"]]
    count = max(int(n["conditions"] ** (1 / n["nesting"])), 1)
    condition: Object = {"minimum": 5}
    for level in range(n["nesting"]):
        if word == "not":
            condition = {"not": condition}
        else:
            others = [{"minimum": 1000 + i + level} for i in range(count - 1)]
            condition = {word: [*others, condition]}
    schema = listed({"type": "integer", **condition})
    calls = [create_custom(plural, {"l": list(range(n["items"]))})]
    return Case(calls, [definition(dialect, plural, schema)])


_RULES = (
    "self.l.all(x, self.l.all(y, x != y || x == y))",
    "self.l.exists_one(x, x == 'nowhere') || true",
    "self.l.map(x, x + x).filter(x, x.contains('b')).size() >= 0",
    "self.l.all(x, x.matches('^(a|b|ab)*c?$'))",
    "self.l.all(x, x.split('a').size() > 0)",
    "self.l.isSorted() || self.l.map(x, x.size()).sum() >= 0",
    "self.l.all(x, x.replace('a', 'bb').size() > 0 && x.upperAscii().lowerAscii() == x)",
    "self.l == self.l.map(x, x) || self.l != self.l",
    "self.l.all(x, self.l.indexOf(x) >= 0)",
    "self.l.all(x, x.findAll('a+').size() >= 0)",
)


@family(items=(1, 2_000), length=(1, 2_000), rules=(1, 60), choice=(0, len(_RULES) - 1))
def rules(dialect: Dialect, n: Numbers) -> Case:
    plural = named("rules", n, "rules", "choice")
    rule = {"rule": _RULES[n["choice"]]}
    schema = listed({"type": "string", "maxLength": 20}, maxItems=20)
    schema[dialect.marked("x-@-validations")] = [rule] * n["rules"]
    # Objects stay within the limits of the schema: those are checked first, so rules are never
    # evaluated on larger ones.
    text = "ab" * 10
    calls = [create_custom(plural, {"l": [text[: n["length"]]] * min(n["items"], 20)})]
    return Case(calls, [definition(dialect, plural, schema)])


@family(items=(1, 2_000), rules=(1, 50), choice=(0, 2))
def rules_on_numbers(dialect: Dialect, n: Numbers) -> Case:
    plural = named("nums", n, "rules", "choice")
    maximum = (200, 20, 2_000)[n["choice"]]
    text = (
        "self.l.all(x, self.l.all(y, x <= y || y < x))",
        "self.l.all(x, self.l.all(y, self.l.exists(z, z == x + y) || true))",
        "self.l.map(x, x * 2).filter(x, x % 2 == 0).size() == self.l.size()",
    )[n["choice"]]
    schema = listed({"type": "integer"}, maxItems=maximum)
    schema[dialect.marked("x-@-validations")] = [{"rule": text}] * n["rules"]
    calls = [create_custom(plural, {"l": list(range(min(n["items"], maximum)))})]
    return Case(calls, [definition(dialect, plural, schema)])


_PATTERNS = (
    "^(a+)+$",
    "^(a|aa)+b$",
    "(x+x+)+y",
    "^.{1,1000}$",
    r"^(\p{L}{1,200}){1,4}$",
    "a.*b.*c",
)


@family(items=(1, 5_000), length=(1, 100_000), choice=(0, len(_PATTERNS) - 1))
def patterns(dialect: Dialect, n: Numbers) -> Case:
    plural = named("patts", n, "choice")
    schema = listed({"type": "string", "pattern": _PATTERNS[n["choice"]]})
    length = min(n["length"], 2_000_000 // n["items"])
    calls = [create_custom(plural, {"l": ["a" * length] * n["items"]})]
    return Case(calls, [definition(dialect, plural, schema)])


_PATHS = (
    ".spec.l[*]",
    ".spec..a",
    ".spec.l[?(@.a=='x')].b",
    ".spec.l[0:1000].a",
    ".metadata.labels",
)


@family(objects=(1, 40), columns=(1, 60), items=(1, 3_000), choice=(0, len(_PATHS) - 1))
def columns(dialect: Dialect, n: Numbers) -> Case:
    plural = named("cols", n, "columns", "choice")
    keep = {"type": "object", dialect.marked("x-@-preserve-unknown-fields"): True}
    rows = [
        {"name": f"C{i}", "type": "string", "jsonPath": _PATHS[n["choice"]]}
        for i in range(n["columns"])
    ]
    spec = {"l": [{"a": "x", "b": 1}] * n["items"]}
    path = custom_path(plural)
    created = [
        Call("PATCH", f"{path}/o{i}?fieldManager=m&force=1", custom(plural, spec, f"o{i}"), APPLY)
        for i in range(n["objects"])
    ]
    accept = {"Accept": TABLE.format(dialect.group_domain)}
    return Case(
        [Call("GET", path, headers=accept)], [definition(dialect, plural, keep, rows), *created]
    )


@family(items=(1, 100_000), depth=(1, 230), choice=(0, 4))
def free_forms(dialect: Dialect, n: Numbers) -> Case:
    """Objects without a schema, in all shapes, created and applied."""
    plural = "frees"
    keep = {"type": "object", dialect.marked("x-@-preserve-unknown-fields"): True}
    count = n["items"]
    leaf: Any = [
        [{}] * count,
        [[]] * count,
        {f"k{i}": i for i in range(count)},
        [1.5e300, -0.0, 2**62] * count,
        {f"k{i}": {"a": {}} for i in range(count // 2)},
    ][n["choice"]]
    for _ in range(n["depth"] - 1):
        leaf = {"d": leaf}
    spec = {"x": leaf}
    path = custom_path(plural)
    calls = [create_custom(plural, spec)]
    calls.append(
        Call("PATCH", f"{path}/b?fieldManager=m&dryRun=All", custom(plural, spec, "b"), APPLY)
    )
    return Case(calls, [definition(dialect, plural, keep)])


# Built-in kinds: every list and map of a type, filled with the smallest items


def _places(struct: Struct, path: tuple[str, ...], depth: int) -> list[tuple[str, ...]]:
    """Return the paths to lists and maps in a type, a few levels deep."""
    rows: list[tuple[str, ...]] = []
    for name, field in struct.fields.items():
        here, kind = (*path, name), field.type
        if isinstance(kind, (ListOf, MapOf)):
            rows.append(here)
            kind = kind.element
            here = (*here, "[]" if isinstance(field.type, ListOf) else "{}")
        if isinstance(kind, Struct) and depth and kind is not struct:
            rows += _places(kind, here, depth - 1)
    return rows


def _built_in(dialect: Dialect) -> list[tuple[Resource, tuple[str, ...]]]:
    resources = Resources(dialect, BuiltinTypes(dialect))
    kinds = [item for item in resources.stored() if item.namespaced and not item.subresource]
    return [(kind, place) for kind in kinds for place in _places(kind.struct, (), 4)]


_BUILT_IN: dict[str, list[tuple[Resource, tuple[str, ...]]]] = {}


def _item(choice: int, number: int) -> Any:
    """Return an item in one of several small forms."""
    return [
        {},
        {"name": f"n{number}"},
        f"n{number}",
        number,
        {"name": "same", "key": "same", "port": number % 65_536},
        {"key": f"k{number}", "operator": "Exists"},
    ][choice]


@family(items=(1, 90_000), place=(0, 2_000), choice=(0, 5), verb=(0, 2))
def lists_of_built_in_kinds(dialect: Dialect, n: Numbers) -> Case:
    places = _BUILT_IN.get(dialect.name) or _BUILT_IN.setdefault(dialect.name, _built_in(dialect))
    resource, place = places[n["place"] % len(places)]
    leaf: Any = [_item(n["choice"], i) for i in range(n["items"])]
    struct_end = place[-1]
    if _is_map(resource.struct, place):
        leaf = {f"k{i}": _item(n["choice"], i) for i in range(n["items"])}
    body: Any = leaf
    for step in reversed(place):
        if step == "[]":
            body = [{**_minimal(struct_end), **body} if isinstance(body, dict) else body]
        elif step == "{}":
            body = {"k": body}
        else:
            body = {step: body}
    prefix = f"/api/{resource.group_version.version}"
    if resource.group:
        prefix = f"/apis/{resource.api_version}"
    path = f"{prefix}/namespaces/{NAMESPACE}/{resource.name}"
    typed = {"apiVersion": resource.api_version, "kind": resource.kind}
    body = {**typed, **body, "metadata": {**body.get("metadata", {}), "name": "a"}}
    if n["verb"] == 0:
        return Case([Call("POST", dry(path), body)])
    if n["verb"] == 1:
        return Case([Call("PATCH", f"{path}/a?fieldManager=m&force=1&dryRun=All", body, APPLY)])
    strategic = Call("PATCH", f"{path}/a?dryRun=All", body, STRATEGIC)
    return Case([Call("POST", path, {**typed, "metadata": {"name": "a"}}), strategic])


def _minimal(name: str) -> Object:
    return {"name": "c", "image": "i"} if name != "metadata" else {}


def _is_map(struct: Struct, place: tuple[str, ...]) -> bool:
    kind: Any = struct
    for step in place:
        if isinstance(kind, (ListOf, MapOf)):
            kind = kind.element
        if step not in ("[]", "{}"):
            kind = kind.fields[step].type
    return isinstance(kind, MapOf)


# Patches of an existing object


def _large_map(size: int) -> Call:
    body = {"metadata": {"name": "big"}, "data": {f"k{i}": "v" for i in range(size)}}
    apply = {"apiVersion": "v1", "kind": "ConfigMap", **body}
    return Call("PATCH", f"{core('configmaps')}/big?fieldManager=setup&force=1", apply, APPLY)


@family(operations=(1, 60_000), size=(1, 30_000), choice=(0, 5))
def json_patches(dialect: Dialect, n: Numbers) -> Case:
    def operation(i: int) -> Object:
        shapes: list[Object] = [
            {"op": "copy", "from": "/data", "path": "/data"},
            {"op": "add", "path": f"/data/n{i}", "value": "v"},
            {"op": "copy", "from": "/metadata/labels", "path": f"/metadata/labels/l{i}"},
            {"op": "test", "path": "/data", "value": {}},
            {"op": "move", "from": f"/data/k{i}", "path": f"/data/m{i}"},
            {"op": "add", "path": "/metadata/finalizers/0", "value": f"a.b/f{i}"},
        ]
        return shapes[n["choice"]]

    change = [operation(i) for i in range(n["operations"])]
    if n["choice"] == 5:
        change.insert(0, {"op": "add", "path": "/metadata/finalizers", "value": []})
    if n["choice"] == 2:
        change.insert(0, {"op": "add", "path": "/metadata/labels", "value": {}})
    path = f"{core('configmaps')}/big?dryRun=All"
    return Case([_large_map(n["size"]), Call("PATCH", path, change, JSON_PATCH)])


@family(copies=(1, 40), width=(1, 10))
def doubling_patches(dialect: Dialect, n: Numbers) -> Case:
    plural = "frees"
    keep = {"type": "object", dialect.marked("x-@-preserve-unknown-fields"): True}
    path = custom_path(plural)
    call = Call(
        "PATCH", f"{path}/d?fieldManager=m&force=1", custom(plural, {"a": {"x": 1}}, "d"), APPLY
    )
    change = [
        {"op": "copy", "from": "/spec", "path": f"/spec/c{i}x{j}"}
        for i in range(n["copies"])
        for j in range(n["width"])
    ]
    patch = Call("PATCH", f"{path}/d?dryRun=All", change, JSON_PATCH)
    return Case([call, patch], [definition(dialect, plural, keep)])


@family(items=(1, 50_000), before=(1, 5_000), choice=(0, 4))
def strategic_patches(dialect: Dialect, n: Numbers) -> Case:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "big"},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "env": [{"name": f"E{i}", "value": "v"} for i in range(n["before"])],
                }
            ]
        },
    }
    env: Any = [
        [{"name": f"E{i}", "$patch": "delete"} for i in range(n["items"])],
        [{"name": f"N{i}", "value": "v"} for i in range(n["items"])],
        [{"$patch": "replace"}] * n["items"],
        [{"name": "E0", "value": str(i)} for i in range(n["items"])],
        [],
    ][n["choice"]]
    container: Object = {"name": "c", "env": env}
    if n["choice"] == 4:
        container["$setElementOrder/env"] = [{"name": f"E{i}"} for i in range(n["items"])]
    change = {"spec": {"containers": [container]}}
    path = f"{core('pods')}/big"
    return Case(
        [
            Call("POST", core("pods"), pod),
            Call("PATCH", f"{path}?dryRun=All", change, STRATEGIC),
            Call("DELETE", f"{path}?gracePeriodSeconds=0"),
        ]
    )


@family(managers=(1, 300), size=(1, 3_000))
def many_managers(dialect: Dialect, n: Numbers) -> Case:
    calls = [_large_map(n["size"])]
    path = f"{core('configmaps')}/big"
    for i in range(min(n["managers"], 60)):
        data = {f"m{i}": "v"}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"}, "data": data}
        calls.append(Call("PATCH", f"{path}?fieldManager=m{i}&force=1", body, APPLY))
    calls.append(Call("DELETE", path))
    return Case(calls)


@family(items=(1, 200_000), choice=(0, 6))
def yaml_bodies(dialect: Dialect, n: Numbers) -> Case:
    count = n["items"]
    text = [
        "data: {" + ", ".join(f"k{i}: v" for i in range(count)) + "}",
        "data: [" + "{}, " * count + "]",
        "data: " + "[" * min(count, 300) + "]" * min(count, 300),
        "a: &a [1,2]\ndata: [" + "*a, " * count + "]",
        "data: &a {k: v}\nmetadata: {labels: {" + "<<: *a, " * min(count, 20_000) + "}, name: y}",
        "data:\n" + "".join(f"  k{i}: 'x'\n" for i in range(count)),
        "data:\n  k: |\n" + "    text\n" * count,
    ][n["choice"]]
    metadata = "" if "metadata" in text else "metadata: {name: y}\n"
    head = f"apiVersion: v1\nkind: ConfigMap\n{metadata}"
    body = f"{head}{text}\n"[: 3 * 2**20 - 100]
    path = f"{core('configmaps')}/y?fieldManager=m&dryRun=All"
    return Case([Call("PATCH", path, body, APPLY)])


# Metadata


@family(items=(1, 60_000), choice=(0, 4))
def metadata(dialect: Dialect, n: Numbers) -> Case:
    count = n["items"]
    shapes: list[Object] = [
        {"labels": {f"l{i}": "v" for i in range(count)}},
        {"annotations": {f"a{i}": "v" for i in range(count)}},
        {"finalizers": [f"a.b/f{i}" for i in range(count)]},
        {
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": f"o{i}", "uid": f"u{i}"}
                for i in range(count)
            ]
        },
        {"managedFields": [{"manager": f"m{i}", "operation": "Update"} for i in range(count)]},
    ]
    body = {"metadata": {"name": "meta", **shapes[n["choice"]]}}
    path = f"{core('configmaps')}/meta"
    drop = Call("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
    return Case([Call("POST", core("configmaps"), body), drop, Call("DELETE", path)])


# Reading


def _labelled(count: int) -> list[Call]:
    return [
        Call(
            "PATCH",
            f"{core('secrets')}/s{i}?fieldManager=m&force=1",
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": f"s{i}", "labels": {"n": str(i), "m": "1"}},
            },
            APPLY,
        )
        for i in range(count)
    ]


def _selector(terms: int, keys: int, choice: int) -> str:
    return ",".join(
        (
            f"n{i % keys}!={i}",
            f"!k{i % keys}",
            f"n in ({i},{i + 1})",
            f"n notin ({i})",
            f"n>{i % 7}",
        )[choice]
        for i in range(terms)
    )


@family(terms=(1, 3_000), keys=(1, 100), choice=(0, 4), objects=(1, 300))
def label_selectors(dialect: Dialect, n: Numbers) -> Case:
    selector = quote(_selector(n["terms"], n["keys"], n["choice"]))
    get = Call("GET", f"{core('secrets')}?labelSelector={selector}", times=4)
    return Case([get], _labelled(n["objects"]))


@family(terms=(1, 2_000), keys=(1, 64), choice=(0, 4), watches=(1, 60))
def watches_with_selectors(dialect: Dialect, n: Numbers) -> Case:
    selectors = [
        quote(_selector(n["terms"], n["keys"], n["choice"]) + f",x!={i}")
        for i in range(n["watches"])
    ]
    watches = [f"{core('secrets')}?labelSelector={selector}" for selector in selectors]
    change = Call(
        "PATCH", f"{core('secrets')}/s0", {"metadata": {"annotations": {"a": "b"}}}, MERGE
    )
    return Case([change] * 3, _labelled(10), watches)


@family(terms=(1, 3_000))
def field_selectors(dialect: Dialect, n: Numbers) -> Case:
    selector = quote(",".join(f"metadata.name!=n{i}" for i in range(n["terms"])))
    return Case([Call("GET", f"{core('secrets')}?fieldSelector={selector}")], _labelled(100))


@family(items=(1, 4_000), choice=(0, 5))
def heads(dialect: Dialect, n: Numbers) -> Case:
    """Many query parameters and header fields."""
    count, path = n["items"], core("secrets")
    call = [
        Call("GET", f"{path}?" + "&".join(f"a{i}=b" for i in range(count))),
        Call("GET", f"{path}?" + "&".join(["limit=1"] * count)),
        Call(
            "GET", path, headers={"Accept": ",".join(f"a/b{i};q=0.{i % 9}" for i in range(count))}
        ),
        Call("GET", path, headers={"Accept-Encoding": ",".join(["gzip;q=0.1"] * count)}),
        Call("GET", f"{path}/" + "a/" * count),
        Call("GET", f"{path}?continue=" + "A" * (8 * count)),
    ][n["choice"]]
    return Case([call])


# Rights


@family(rules=(1, 10_000), bindings=(1, 60), names=(1, 50))
def roles(dialect: Dialect, n: Numbers) -> Case:
    rbac = dialect.group_name("rbac.authorization.@")
    path = f"/apis/{rbac}/v1/namespaces/{NAMESPACE}"
    rule = {
        "apiGroups": [""],
        "verbs": ["get"],
        "resources": ["pods"],
        "resourceNames": [f"n{i}" for i in range(n["names"])],
    }
    count = min(n["rules"], 1_200_000 // (60 + 8 * n["names"]))
    role = {
        "apiVersion": f"{rbac}/v1",
        "kind": "Role",
        "metadata": {"name": "r"},
        "rules": [{**rule, "resources": [f"r{i}"]} for i in range(count)],
    }
    calls = [Call("PATCH", f"{path}/roles/r?fieldManager=m&force=1", role, APPLY)]
    for i in range(n["bindings"]):
        binding = {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": f"b{i}"},
            "subjects": [{"kind": "Group", "name": "system:authenticated", "apiGroup": rbac}],
            "roleRef": {"kind": "Role", "name": "r", "apiGroup": rbac},
        }
        patch = f"{path}/rolebindings/b{i}?fieldManager=m&force=1"
        calls.append(Call("PATCH", patch, binding, APPLY))
    access = dialect.group_name("authorization.@")
    spec = {"namespace": NAMESPACE}
    review = Call("POST", f"/apis/{access}/v1/selfsubjectrulesreviews", {"spec": spec})
    # Undone: they would slow down the authorization of all requests.
    undo = [Call("DELETE", f"{path}/rolebindings/b{i}") for i in range(n["bindings"])]
    return Case([*calls, Call("GET", core("nothing")), review, *undo])


@family(groups=(1, 100_000))
def reviews(dialect: Dialect, n: Numbers) -> Case:
    access = dialect.group_name("authorization.@")
    spec = {
        "user": "u",
        "groups": [f"g{i}" for i in range(n["groups"])],
        "extra": {f"e{i}": ["v"] for i in range(min(n["groups"], 20_000))},
        "resourceAttributes": {"namespace": NAMESPACE, "verb": "get", "resource": "pods"},
    }
    path = f"/apis/{access}/v1/namespaces/{NAMESPACE}/localsubjectaccessreviews"
    return Case([Call("POST", path, {"metadata": {"namespace": NAMESPACE}, "spec": spec})])


# Objects that controllers react to


@family(services=(1, 60), pods=(1, 60), expressions=(1, 200))
def selectors_of_objects(dialect: Dialect, n: Numbers) -> Case:
    """Disruption budgets with long selectors, and pods for them."""
    path = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
    expressions = [
        {"key": f"k{i % 50}", "operator": "NotIn", "values": [str(i)]}
        for i in range(n["expressions"])
    ]
    calls = [
        Call(
            "PATCH",
            f"{path}/p{i}?fieldManager=m&force=1",
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": f"p{i}"},
                "spec": {"selector": {"matchExpressions": expressions}, "minAvailable": 1},
            },
            APPLY,
        )
        for i in range(min(n["services"], 20))
    ]
    pod = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    for i in range(n["pods"]):
        calls.append(Call("POST", core("pods"), {"metadata": {"name": f"w{i}"}, **pod}))
    calls.append(Call("DELETE", f"{core('pods')}?gracePeriodSeconds=0"))
    calls.append(Call("DELETE", path))
    return Case(calls)


@family(items=(1, 700_000), choice=(0, 3))
def protobuf(dialect: Dialect, n: Numbers) -> Case:
    """Messages of empty messages, of two bytes each."""
    count = n["items"]
    inner = [
        b"\x12\x00",  # containers
        b"\x0a\x00",  # volumes
        b"\xa2\x01\x00",  # initContainers
        b"\xb2\x01\x00",  # tolerations
    ][n["choice"]] * count
    spec = b"\x12" + _varint(len(inner)) + inner
    head = b"\x0a\x03\x0a\x01a"
    raw = head + spec
    kind = b"\x0a\x09\x0a\x02v1\x12\x03Pod"
    body = b"k8s\x00" + kind + b"\x12" + _varint(len(raw)) + raw
    return Case([Call("POST", dry(core("pods")), body, dialect.protobuf_media_type)])


def _varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])
