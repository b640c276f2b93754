"""Configuration files of the server: YAML documents with a kind, decoded strictly by types that a
`.types` table describes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fairlead.base.files import text_beside
from fairlead.base.logs import Logger
from fairlead.codec.bodies import BodyError, parse_yaml
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder, unknown_paths
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.model import Object, Struct
from fairlead.codec.types.notation import parse

logger = Logger("fairlead")


class ConfigurationError(ValueError):
    """An invalid configuration; the text names the flag, the file and the field."""


class Form(NamedTuple):
    """The format of one configuration: its type, and its accepted apiVersions and kinds, newest
    first; empty if the document carries none."""

    type: str
    names: tuple[tuple[str, str], ...] = ()


def versions(kind: str, group: str, *names: str) -> tuple[tuple[str, str], ...]:
    """The names of a kind in versions of a group."""
    return tuple((f"{group}/{name}", kind) for name in names)


class Section(NamedTuple):
    """A part of a configuration: the decoded known fields and their location. `flag` is the flag
    that names the file, without dashes."""

    value: Object
    file: Path
    flag: str
    place: str = ""  # field path within the file

    def error(self, path: str, reason: str) -> ConfigurationError:
        """The error about a field of the value."""
        field_path = f"{self.place}.{path}".strip(".")
        where = f"{self.file}: {field_path}" if field_path else str(self.file)
        return ConfigurationError(f"--{self.flag}: {where}: {reason}")

    def beside(self, name: str) -> Path:
        """The path of a file named in the configuration; relative to the configuration file."""
        return self.file.parent / name


def load_section(file: Path, flag: str) -> Section:
    """Read a file and parse it; raises ConfigurationError."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise Section({}, file, flag).error("", f"cannot be read: {error.strerror}") from None
    return parse_section(content, file, flag)


def parse_section(content: bytes, file: Path, flag: str) -> Section:
    """Parse the content of a file; raises ConfigurationError."""
    nowhere = Section({}, file, flag)
    try:
        value, repeated = parse_yaml(content)
    except BodyError as error:
        raise nowhere.error("", str(error)) from None
    if repeated:
        raise nowhere.error("", repeated[0])
    return nowhere._replace(value=value)


class ConfigurationReader:
    """Decodes parsed documents by the types in `configuration.types` beside a module."""

    def __init__(self, types: BuiltinTypes, module: str) -> None:
        self._dialect = types.dialect
        self._structs = _structs(types, module)

    def section(self, form: Form, section: Section) -> Section:
        """Decode a document by its format; raises ConfigurationError."""
        document: Any = section.value
        if not isinstance(document, dict):
            raise section.error("", "is not a mapping of fields")
        document = dict(document)
        if form.names:
            self._check_kind(form, section, document)
        return section._replace(value=self._decode(form, section, document))

    def _check_kind(self, form: Form, section: Section, document: Object) -> None:
        version, kind = document.pop("apiVersion", None), document.pop("kind", None)
        names = [(self._dialect.group_name(name), word) for name, word in form.names]
        version_names = [name for name, _ in names]
        if version not in version_names:
            raise section.error(
                "apiVersion",
                f"{_quote_or_nothing(version)} is not known, only {', '.join(version_names)}",
            )
        expected = dict(names)[version]
        if kind != expected:
            raise section.error(
                "kind",
                f"{_quote_or_nothing(kind)} is not known in {version}, only {expected}",
            )
        if version != version_names[0]:
            field_path = f"{section.place}.apiVersion".strip(".")
            logger.warning(
                "an apiVersion is deprecated",
                flag=f"--{section.flag}",
                file=section.file,
                field=field_path,
                version=version,
                use=version_names[0],
            )

    def _decode(self, form: Form, section: Section, document: Object) -> Object:
        struct = self._structs[form.type]
        unknown: list[str] = []
        try:
            value: Object = decoder(struct)(document, unknown)
        except DecodeError as error:
            raise section.error(".".join(reversed(error.fields)), _reason(error)) from None
        if unknown:
            raise section.error(unknown_paths(struct, document)[0], "unknown field")
        return value


@cache
def _structs(types: BuiltinTypes, module: str) -> Mapping[str, Struct]:
    return parse("configuration", text_beside(module, "configuration.types"), types.group_version)


def _quote_or_nothing(value: Any) -> str:
    return f'"{value}"' if value is not None else "nothing"


def _reason(error: DecodeError) -> str:
    value, _, _ = str(error.args[0]).partition(" of type ")
    return f"is of type {value}, not {error.wanted}" if error.wanted else str(error)
