"""The printers for the formats of `-o`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.base.terminal import printable
from fairlead.cli.errors import CommandFailed
from fairlead.cli.output import custom_columns, documents, go_templates, jsonpath, kyaml
from fairlead.cli.output.flags import FORMATS, Choice

Object = dict[str, Any]

_OLD = {"template": "go-template", "templatefile": "go-template-file"}


# Formats an object or list as text with a final line break; raises CommandFailed.
Printer = Callable[[Object], str]


def printer_for(choice: Choice) -> Printer:
    """Raises CommandFailed for an unknown format."""
    form, sign, argument = choice.output.partition("=")
    form = _OLD.get(form, form)
    if not choice.output and choice.template:
        form = "go-template"
    printer_type = _PRINTERS.get(form)
    if printer_type is None or (sign and form in _BARE):
        raise CommandFailed(f"error: -o {choice.output} is unknown: it takes {', '.join(FORMATS)}")
    return printer_type(choice, argument or choice.template)


class _Json:
    def __init__(self, choice: Choice, argument: str) -> None:
        self._preparation = _preparation(choice)

    def __call__(self, value: Object) -> str:
        return f"{documents.as_json(self._preparation(value))}\n"


class _Yaml:
    """YAML documents, separated by `---`."""

    def __init__(self, choice: Choice, argument: str) -> None:
        self._preparation = _preparation(choice)
        self._is_first = True

    def __call__(self, value: Object) -> str:
        between = "" if self._is_first else "---\n"
        self._is_first = False
        return f"{between}{documents.as_yaml(self._preparation(value))}\n"


class _Kyaml:
    def __init__(self, choice: Choice, argument: str) -> None:
        self._preparation = _preparation(choice)

    def __call__(self, value: Object) -> str:
        return f"{kyaml.document(self._preparation(value))}\n"


class _Names:
    def __init__(self, choice: Choice, argument: str) -> None:
        pass

    def __call__(self, value: Object) -> str:
        return "".join(f"{_name(item)}\n" for item in _each(value))


class _JsonPath:
    def __init__(self, choice: Choice, argument: str) -> None:
        form = choice.output.partition("=")[0]
        if not argument:
            raise CommandFailed("error: the template is missing: -o jsonpath=TEMPLATE")
        text = _content(argument) if form == "jsonpath-file" else argument
        try:
            self._template = jsonpath.template(text)
        except jsonpath.JsonPathError as error:
            raise CommandFailed(f"error: error parsing jsonpath {text}, {error}") from None
        self._errors = jsonpath.JsonPathError
        self._as_json = form == "jsonpath-as-json"
        self._strict = not choice.missing_keys

    def __call__(self, value: Object) -> str:
        try:
            if self._as_json:
                return self._template.render_json(value, self._strict)
            return self._template.render(value, self._strict)
        except self._errors as error:
            text = self._template.text
            raise CommandFailed(
                f'error: error executing jsonpath "{text}": Error executing template:'
                f" {printable(str(error))}"
            ) from None


class _GoTemplate:
    def __init__(self, choice: Choice, argument: str) -> None:
        if not argument:
            raise CommandFailed("error: the template is missing: -o go-template=TEMPLATE")
        is_file = "file" in choice.output.partition("=")[0]
        text = _content(argument) if is_file else argument
        self._template = go_templates.Template(text, strict=not choice.missing_keys)

    def __call__(self, value: Object) -> str:
        return self._template.text(value)


class _CustomColumns:
    def __init__(self, choice: Choice, argument: str) -> None:
        if choice.output.startswith("custom-columns-file"):
            columns = custom_columns.columns_of_file(_content(argument))
        else:
            columns = custom_columns.columns_of(argument)
        self._table = custom_columns.CustomTable(columns, choice.headers)

    def __call__(self, value: Object) -> str:
        return self._table.text(_each(value))


_PRINTERS: dict[str, Callable[[Choice, str], Printer]] = {
    "json": _Json,
    "yaml": _Yaml,
    "kyaml": _Kyaml,
    "name": _Names,
    "go-template": _GoTemplate,
    "go-template-file": _GoTemplate,
    "jsonpath": _JsonPath,
    "jsonpath-as-json": _JsonPath,
    "jsonpath-file": _JsonPath,
    "custom-columns": _CustomColumns,
    "custom-columns-file": _CustomColumns,
}
_BARE = ("json", "yaml", "kyaml", "name")


def _each(value: Object) -> list[Object]:
    items = value.get("items")
    is_list = isinstance(items, list) and str(value.get("kind")).endswith("List")
    return items if is_list and items is not None else [value]


def _preparation(choice: Choice) -> Callable[[Object], Object]:
    return (lambda value: value) if choice.managed_fields else documents.without_managed_fields


def _name(value: Object) -> str:
    group = str(value.get("apiVersion") or "").rpartition("/")[0]
    kind = str(value.get("kind") or "<unknown>").lower()
    name = printable(str((value.get("metadata") or {}).get("name", "")))
    return f"{kind}.{group}/{name}" if group else f"{kind}/{name}"


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise CommandFailed(f"error: error reading template {path}, {why}") from None
