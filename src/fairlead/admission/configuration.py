"""`--admission-control-config-file`: the configuration of individual plugins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairlead.codec.configuration_files import (
    ConfigurationReader,
    Form,
    Section,
    load_section,
    versions,
)
from fairlead.codec.types.builtin import BuiltinTypes

FLAG = "admission-control-config-file"

_OWN_GROUP = "apiserver.config.@"
_FILE = Form(
    "AdmissionConfiguration",
    (
        *versions("AdmissionConfiguration", _OWN_GROUP, "v1", "v1alpha1"),
        *versions("AdmissionConfiguration", "apiserver.@", "v1alpha1"),
    ),
)
_WEBHOOKS = Form(
    "WebhookAdmissionConfiguration",
    (
        *versions("WebhookAdmissionConfiguration", _OWN_GROUP, "v1"),
        *versions("WebhookAdmission", _OWN_GROUP, "v1alpha1"),
    ),
)
_PLUGINS: dict[str, Form] = {
    "ResourceQuota": Form(
        "ResourceQuotaConfiguration",
        (
            *versions("ResourceQuotaConfiguration", _OWN_GROUP, "v1"),
            *versions("Configuration", "resourcequota.admission.@", "v1beta1", "v1alpha1"),
        ),
    ),
    "PodSecurity": Form(
        "PodSecurityConfiguration",
        versions(
            *("PodSecurityConfiguration", "pod-security.admission.config.@"),
            *("v1", "v1beta1", "v1alpha1"),
        ),
    ),
    "EventRateLimit": Form(
        "EventRateLimitConfiguration",
        versions("Configuration", "eventratelimit.admission.@", "v1alpha1"),
    ),
    "PodTolerationRestriction": Form(
        "PodTolerationRestrictionConfiguration",
        versions("Configuration", "podtolerationrestriction.admission.@", "v1alpha1"),
    ),
    "PodNodeSelector": Form("PodNodeSelectorConfiguration"),
    "ImagePolicyWebhook": Form("ImagePolicyWebhookConfiguration"),
    "MutatingAdmissionWebhook": _WEBHOOKS,
    "ValidatingAdmissionWebhook": _WEBHOOKS,
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configuration sections by plugin."""

    sections: Mapping[str, Section] = field(default_factory=dict)

    def of(self, plugin: str) -> Section | None:
        return self.sections.get(plugin)


def read_configuration(
    path: Path, types: BuiltinTypes, known_plugins: tuple[str, ...]
) -> Configuration:
    """Read the file and the files it references. `known_plugins` are the names of all plugins.
    Raises ConfigurationError."""
    reader = ConfigurationReader(types, __file__)
    listed = reader.section(_FILE, load_section(path, FLAG))
    sections: dict[str, Section] = {}
    for index, entry in enumerate(listed.value.get("plugins") or ()):
        entry_section = Section(entry, path, FLAG, f"plugins[{index}]")
        name = entry.get("name", "")
        if name not in known_plugins:
            raise entry_section.error("name", f'unknown plugin "{name}"')
        if name in sections:
            raise entry_section.error("name", f"{name} is configured twice")
        plugin_section = _entry_section(entry_section)
        if plugin_section is not None:
            sections[name] = reader.section(_form(name, plugin_section), plugin_section)
    return Configuration(sections)


def _entry_section(entry: Section) -> Section | None:
    """The inline or referenced configuration of an entry; None if there is none."""
    name, inline = entry.value.get("path", ""), entry.value.get("configuration")
    if name and inline is not None:
        raise entry.error("path", "may not be given together with configuration")
    if inline is not None:
        return Section(inline, entry.file, FLAG, f"{entry.place}.configuration")
    if not name:
        return None
    section = load_section(entry.beside(name), FLAG)
    return section if section.value is not None else None


def _form(plugin: str, section: Section) -> Form:
    form = _PLUGINS.get(plugin)
    if form is None:
        raise section.error("", f"{plugin} takes no configuration")
    return form
