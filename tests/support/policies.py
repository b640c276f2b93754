"""Admission policies for tests, each bound to one namespace."""

from __future__ import annotations

from typing import Any

from support.client import Answer, Object
from support.namespaces import Space

GROUP = "/apis/admissionregistration.k8s.io/v1"
CONFIG_MAPS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}


class Bound:
    """Policies that apply in the namespace of a space. `end` deletes them."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.client = space.client
        self._names: list[tuple[str, str]] = []

    def validating(self, *, binding: Object | None = None, **spec: Any) -> str:
        """Create a validating policy and its binding; returns the name of both."""
        spec = {"validations": [{"expression": "false"}], **spec}
        binding = {"validationActions": ["Deny"], **(binding or {})}
        return self._create("validating", spec, binding)

    def mutating(self, *expressions: str, binding: Object | None = None, **spec: Any) -> str:
        """Create a mutating policy that applies configurations, and its binding."""
        mutations = [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}
            for text in expressions
        ]
        spec = {"mutations": mutations, "reinvocationPolicy": "Never", **spec}
        return self._create("mutating", spec, binding or {})

    def _create(self, kind: str, spec: Object, binding: Object) -> str:
        name = f"{self.space.name}-{len(self._names)}"
        here = {"matchLabels": {"kubernetes.io/metadata.name": self.space.name}}
        spec = {"matchConstraints": {"resourceRules": [CONFIG_MAPS]}, **spec}
        binding = {"policyName": name, "matchResources": {"namespaceSelector": here}, **binding}
        self._names.append((kind, name))
        for resource, value in (("admissionpolicies", spec), ("admissionpolicybindings", binding)):
            body = {"metadata": {"name": name}, "spec": value}
            answer = self.client.post(f"{GROUP}/{kind}{resource}", body)
            assert answer.status == 201, answer.message
        return name

    def write(self, name: str = "c", **fields: Any) -> Answer:
        """Create a config map as a dry run."""
        metadata = {"name": name, **fields.pop("metadata", {})}
        path = f"/api/v1/namespaces/{self.space.name}/configmaps"
        return self.client.post(path, {"metadata": metadata, **fields}, dryRun="All")

    def end(self) -> None:
        for kind, name in self._names:
            for resource in ("admissionpolicybindings", "admissionpolicies"):
                self.client.delete(f"{GROUP}/{kind}{resource}/{name}")
