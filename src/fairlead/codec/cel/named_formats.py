"""Named formats of strings: `format.dns1123Label().validate(text)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from fairlead.base.quotes import quote
from fairlead.codec.cel.costs import PER_CHARACTER, PER_PATTERN_CHARACTER, tenth
from fairlead.codec.cel.library import Library, declared
from fairlead.codec.cel.ranges import Estimate, Sizes, fixed
from fairlead.codec.cel.syntax import Call
from fairlead.codec.cel.types import NAMED_FORMAT, STRING, ListType, OptionalType
from fairlead.codec.cel.urls import UrlError, parse
from fairlead.codec.cel.values import NONE, Optional
from fairlead.codec.types.names import (
    dns_1035_label,
    dns_label,
    dns_subdomain,
    label_value,
    qualified_name,
)
from fairlead.codec.types.string_formats import check_of

_MAX_PATTERN = 128  # characters of the pattern that the estimate assumes
Errors = Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class NamedFormat:
    """`pattern` is the length of a pattern for the format, which validating costs."""

    type_name: ClassVar = "kubernetes.NamedFormat"
    class_name: ClassVar = "cel.Format"

    name: str
    errors: Errors
    pattern: int


def _prefix(errors: Errors) -> Errors:
    """The errors of a prefix, which may end with a dash."""

    def of_prefix(text: str) -> Sequence[str]:
        return errors(f"{text[:-1]}a" if len(text) > 1 and text[-1] == "-" else text)

    return of_prefix


def _uri(text: str) -> list[str]:
    try:
        parse(text)
    except UrlError as error:
        return [f"parse {quote(text)}: {error}"]
    return []


def _checked(form: str, message: str) -> Errors:
    is_right = check_of(form)
    return lambda text: [] if is_right is None or is_right(text) else [message]


_FORMATS = {
    "dns1123Label": NamedFormat("DNS1123Label", dns_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", dns_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", dns_1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix(dns_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _prefix(dns_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix(dns_1035_label), 30),
    "labelValue": NamedFormat("LabelValue", label_value, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat("uuid", _checked("uuid", "does not match the UUID format"), 70),
    "byte": NamedFormat("byte", _checked("byte", "invalid base64"), 84),
    "date": NamedFormat("date", _checked("date", "invalid date"), 71),
    "datetime": NamedFormat("datetime", _checked("datetime", "invalid datetime"), 71),
}


def _validate(form: NamedFormat, text: str) -> Optional:
    errors = [getattr(error, "later", error) for error in form.errors(text)]
    return Optional(errors) if errors else NONE


def _named(name: str) -> Optional:
    return Optional(_FORMATS[name]) if name in _FORMATS else NONE


def _cost(form: NamedFormat, text: str, _: Optional) -> int:
    return tenth(1 + len(text)) * -(-form.pattern // 4)


def _estimate(_: Call, sizes: Sizes) -> tuple[Estimate, Estimate | None]:
    text = sizes[1].scaled(PER_CHARACTER)
    return text.scaled(_MAX_PATTERN * PER_PATTERN_CHARACTER), None


def _constant(form: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: form


LIBRARY = Library(
    declared(
        [
            ("format.named", (STRING,), OptionalType(NAMED_FORMAT)),
            *((f"format.{name}", (), NAMED_FORMAT) for name in _FORMATS),
        ],
        [("validate", (NAMED_FORMAT, STRING), OptionalType(ListType(STRING)))],
    ),
    {
        "format.named": {(str,): _named},
        "validate": {(NamedFormat, str): _validate},
        **{f"format.{name}": {(): _constant(form)} for name, form in _FORMATS.items()},
    },
    {"validate": _cost},
    {"validate": _estimate, "format.named": lambda call, sizes: (fixed(1), None)},
    {"kubernetes.NamedFormat": NAMED_FORMAT},
)
