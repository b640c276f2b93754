"""Names of schemas, operations, tags and extensions in documents."""

from __future__ import annotations

import re

from fairlead.base.dialect import Dialect
from fairlead.resources.registry import GroupVersion

_SHARED = {
    "IntOrString": "apimachinery.pkg.util.intstr.IntOrString",
    "Quantity": "apimachinery.pkg.api.resource.Quantity",
    "Time": "apimachinery.pkg.apis.meta.v1.Time",
    "MicroTime": "apimachinery.pkg.apis.meta.v1.MicroTime",
    "Duration": "apimachinery.pkg.apis.meta.v1.Duration",
    "Patch": "apimachinery.pkg.apis.meta.v1.Patch",
    "raw": "apimachinery.pkg.runtime.RawExtension",
    "FieldsV1": "apimachinery.pkg.apis.meta.v1.FieldsV1",
    "any": "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    **{
        name: f"apiextensions-apiserver.pkg.apis.apiextensions.v1.{name}"
        for name in (
            "JSONSchemaPropsOrArray",
            "JSONSchemaPropsOrBool",
            "JSONSchemaPropsOrStringArray",
        )
    },
    "Info": "apimachinery.pkg.version.Info",
}
_PACKAGES = {
    "meta": "apimachinery.pkg.apis.meta",
    "apiextensions": "apiextensions-apiserver.pkg.apis.apiextensions",
    "metrics": "metrics.pkg.apis.metrics",
    "apiregistration": "@-aggregator.pkg.apis.apiregistration",
}


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def reverse(domain: str) -> str:
    """A domain in reverse, as in schema names: `io.k8s` for `k8s.io`."""
    return ".".join(reversed(domain.split(".")))


class Names:
    """The names of a dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._root = reverse(dialect.group_domain)
        self.title = capital(dialect.name)
        self.kind = self.extension("group-version-kind")
        self.action = self.extension("action")
        self.list_type = self.extension("list-type")
        self.list_keys = self.extension("list-map-keys")
        self.map_type = self.extension("map-type")
        self.patch_strategy = self.extension("patch-strategy")
        self.patch_key = self.extension("patch-merge-key")
        self.unions = self.extension("unions")
        self.embedded = self.extension("embedded-resource")
        self.int_or_string = self.extension("int-or-string")
        self.preserve = self.extension("preserve-unknown-fields")
        self.selectable = self.extension("selectable-fields")

    def extension(self, name: str) -> str:
        return self._dialect.marked(f"x-@-{name}")

    def shared(self, name: str) -> str:
        """The schema name of a scalar type, by its name in the type model."""
        return f"{self._root}.{_SHARED[name]}"

    def schema(self, table_name: str, name: str) -> str:
        """The schema name of a type, for example of `core/v1` and `Pod`. Groups of custom resources
        have dots in their names."""
        group, _, version = table_name.partition("/")
        if "." in group:
            return f"{reverse(group)}.{version}.{name}"
        package = _PACKAGES.get(group, f"api.{group}").replace("@", self._dialect.system_prefix)
        return f"{self._root}.{package}.{version}.{name}"

    def group(self, group: str) -> str:
        """The group as part of an operation ID."""
        if not group:
            return "Core"
        short_name = group.removesuffix(f".{self._dialect.group_domain}")
        return "".join(capital(part) for part in re.split(r"[.-]", short_name))

    def operation(self, verb: str, group_version: GroupVersion, suffix: str) -> str:
        """An operation ID: `listCoreV1NamespacedPod` for list, core/v1 and NamespacedPod."""
        return f"{verb}{self.group(group_version.group)}{capital(group_version.version)}{suffix}"

    def tag(self, group_version: GroupVersion) -> str:
        group = self.group(group_version.group)
        return f"{group[:1].lower()}{group[1:]}_{group_version.version}"
