"""OpenAPI documents like those of extension servers."""

from __future__ import annotations

from typing import Any

Value = dict[str, Any]
GROUP = "ext.example.com"
KIND_MARK = "x-kubernetes-group-version-kind"
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
GADGET = "com.example.ext.v1.Gadget"


def link(name: str) -> Value:
    return {"$ref": f"#/definitions/{name}"}


def getting(answer: Value, **more: Any) -> Value:
    """Return a path item with a GET operation."""
    operation = {"operationId": "read", "responses": {"200": {"description": "OK"}}, **more}
    operation["responses"]["200"]["schema"] = answer
    return {"get": operation}


def kind(name: str, group: str = GROUP, version: str = "v1") -> Value:
    return {"group": group, "kind": name, "version": version}


def gadget(group: str = GROUP, **properties: Value) -> Value:
    """Return the definition of a kind."""
    own = {"metadata": link(META), "size": {"type": "integer", "default": 3}, **properties}
    return {"type": "object", "properties": own, KIND_MARK: [kind("Gadget", group)]}


def swagger(paths: Value, definitions: Value, **more: Any) -> Value:
    info = {"title": "Extension", "version": "v1"}
    return {"swagger": "2.0", "info": info, "paths": paths, "definitions": definitions, **more}


def gadgets(group: str = GROUP, *, meta: Value | None = None, **properties: Value) -> Value:
    """Return the document of a server with gadgets. `meta` is its definition of object metadata."""
    base = f"/apis/{group}/v1"
    return swagger(
        {f"{base}/": getting({"type": "object"}), f"{base}/gadgets": getting(link(GADGET))},
        {GADGET: gadget(group, **properties), META: meta or {"type": "object"}},
    )
