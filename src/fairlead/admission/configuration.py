"""`--admission-control-config-file`: the configuration of individual plugins."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fairlead.base.files import text_beside
from fairlead.codec.bodies import BodyError, parse_yaml
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder, unknown_paths
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.model import Object, Struct
from fairlead.codec.types.notation import parse

logger = logging.getLogger("fairlead")

FLAG = "admission-control-config-file"


class ConfigurationError(ValueError):
    """An invalid configuration; the text names the file and the field."""


class _Form(NamedTuple):
    """The format of one configuration: its type in `configuration.types`, and its accepted
    apiVersions and kinds, newest first; empty if the document carries none."""

    type: str
    names: tuple[tuple[str, str], ...] = ()


def _versions(kind: str, group: str, *versions: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"{group}/{version}", kind) for version in versions)


_OWN_GROUP = "apiserver.config.@"
_FILE = _Form(
    "AdmissionConfiguration",
    (
        *_versions("AdmissionConfiguration", _OWN_GROUP, "v1", "v1alpha1"),
        *_versions("AdmissionConfiguration", "apiserver.@", "v1alpha1"),
    ),
)
_WEBHOOKS = _Form(
    "WebhookAdmissionConfiguration",
    (
        *_versions("WebhookAdmissionConfiguration", _OWN_GROUP, "v1"),
        *_versions("WebhookAdmission", _OWN_GROUP, "v1alpha1"),
    ),
)
_PLUGINS: dict[str, _Form] = {
    "ResourceQuota": _Form(
        "ResourceQuotaConfiguration",
        (
            *_versions("ResourceQuotaConfiguration", _OWN_GROUP, "v1"),
            *_versions("Configuration", "resourcequota.admission.@", "v1beta1", "v1alpha1"),
        ),
    ),
    "PodSecurity": _Form(
        "PodSecurityConfiguration",
        _versions(
            *("PodSecurityConfiguration", "pod-security.admission.config.@"),
            *("v1", "v1beta1", "v1alpha1"),
        ),
    ),
    "EventRateLimit": _Form(
        "EventRateLimitConfiguration",
        _versions("Configuration", "eventratelimit.admission.@", "v1alpha1"),
    ),
    "PodTolerationRestriction": _Form(
        "PodTolerationRestrictionConfiguration",
        _versions("Configuration", "podtolerationrestriction.admission.@", "v1alpha1"),
    ),
    "PodNodeSelector": _Form("PodNodeSelectorConfiguration"),
    "ImagePolicyWebhook": _Form("ImagePolicyWebhookConfiguration"),
    "MutatingAdmissionWebhook": _WEBHOOKS,
    "ValidatingAdmissionWebhook": _WEBHOOKS,
}


class Section(NamedTuple):
    """The configuration of one plugin: the decoded known fields and their location."""

    value: Object
    file: Path
    place: str = ""  # field path within the file

    def error(self, path: str, reason: str) -> ConfigurationError:
        """The error about a field of the value."""
        return _error(self.file, f"{self.place}.{path}".strip("."), reason)

    def beside(self, name: str) -> Path:
        """The path of a file named in the configuration; relative to the configuration file."""
        return self.file.parent / name


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
    reader = _Reader(types)
    listed = reader.section(_FILE, Section(_load(path), path))
    sections: dict[str, Section] = {}
    for index, entry in enumerate(listed.value.get("plugins") or ()):
        entry_section = Section(entry, path, f"plugins[{index}]")
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
        return Section(inline, entry.file, f"{entry.place}.configuration")
    if not name:
        return None
    file = entry.beside(name)
    content = _load(file)
    return Section(content, file) if content is not None else None


def _form(plugin: str, section: Section) -> _Form:
    form = _PLUGINS.get(plugin)
    if form is None:
        raise section.error("", f"{plugin} takes no configuration")
    return form


def _error(file: Path, field_path: str, reason: str) -> ConfigurationError:
    where = f"{file}: {field_path}" if field_path else str(file)
    return ConfigurationError(f"--{FLAG}: {where}: {reason}")


def _load(file: Path) -> Any:
    try:
        value, repeated = parse_yaml(file.read_bytes())
    except OSError as error:
        raise _error(file, "", f"cannot be read: {error.strerror}") from None
    except BodyError as error:
        raise _error(file, "", str(error)) from None
    if repeated:
        raise _error(file, "", repeated[0])
    return value


class _Reader:
    """Decodes parsed documents by the types of a dialect."""

    def __init__(self, types: BuiltinTypes) -> None:
        self._dialect = types.dialect
        self._structs = _structs(types)

    def section(self, form: _Form, section: Section) -> Section:
        """Decode a document by its format; raises ConfigurationError."""
        document = section.value
        if not isinstance(document, dict):
            raise section.error("", "is not a mapping of fields")
        document = dict(document)
        if form.names:
            self._check_kind(form, section, document)
        return Section(self._decode(form, section, document), section.file, section.place)

    def _check_kind(self, form: _Form, section: Section, document: Object) -> None:
        version, kind = document.pop("apiVersion", None), document.pop("kind", None)
        names = [(self._dialect.group_name(name), word) for name, word in form.names]
        versions = [name for name, _ in names]
        if version not in versions:
            raise section.error(
                "apiVersion",
                f"{_quote_or_nothing(version)} is not known, only {', '.join(versions)}",
            )
        expected = dict(names)[version]
        if kind != expected:
            raise section.error(
                "kind", f"{_quote_or_nothing(kind)} is not known in {version}, only {expected}"
            )
        if version != versions[0]:
            field_path = f"{section.place}.apiVersion".strip(".")
            message = "--%s: %s: %s: %s is deprecated; use %s"
            logger.warning(message, FLAG, section.file, field_path, version, versions[0])

    def _decode(self, form: _Form, section: Section, document: Object) -> Object:
        struct = self._structs[form.type]
        unknown: list[str] = []
        try:
            value: Object = decoder(struct)(document, unknown)
        except DecodeError as error:
            raise section.error(".".join(reversed(error.fields)), _reason(error)) from None
        if unknown:
            raise section.error(unknown_paths(struct, document)[0], "unknown field")
        return value


def _quote_or_nothing(value: Any) -> str:
    return f'"{value}"' if value is not None else "nothing"


def _reason(error: DecodeError) -> str:
    value, _, _ = str(error.args[0]).partition(" of type ")
    return f"is of type {value}, not {error.wanted}" if error.wanted else str(error)


@cache
def _structs(types: BuiltinTypes) -> dict[str, Struct]:
    text = text_beside(__file__, "configuration.types")
    return parse("configuration", text, types.group_version)
