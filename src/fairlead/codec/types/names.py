"""The syntax of names: of objects, labels and their parts. Each check returns the list of errors,
empty if there are none."""

from __future__ import annotations

import re
from string import ascii_letters, ascii_lowercase, digits
from typing import Final

from fairlead.base.release import Reworded

_DNS_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN: Final = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_DNS_1035: Final = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = rf"({_QUALIFIED})?"
SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"  # for generated names; no vowels, so no words


def _regex_error(noun: str, pattern: str, *examples: str) -> str:
    shown = "".join(f"'{example}',  or " for example in examples[:-1]) + f"'{examples[-1]}'"
    return f"{noun} (e.g. {shown}, regex used for validation is '{pattern}')"


_SUBDOMAIN_ERROR: Final = _regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character",
    _DNS_SUBDOMAIN,
    "example.com",
)
_DNS_LABEL_ERROR: Final = _regex_error(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and"
    " must start and end with an alphanumeric character",
    _DNS_LABEL,
    "my-name",
    "123-abc",
)
_DNS_1035_ERROR: Final = _regex_error(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an"
    " alphabetic character, and end with an alphanumeric character",
    _DNS_1035,
    "my-name",
    "abc-123",
)
_QUALIFIED_ERROR: Final = _regex_error(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character",
    _QUALIFIED,
    "MyName",
    "my.name",
    "123-abc",
)
_LABEL_VALUE_ERROR: Final = _regex_error(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or"
    " '.', and must start and end with an alphanumeric character",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


_LONG_LABEL: Final = Reworded(_too_long(63), "must be no more than 63 bytes")
_LONG_NAME: Final = Reworded(
    f"name part {_too_long(63)}", "name part must be no more than 63 bytes"
)
_NO_DOTS: Final = Reworded(_DNS_LABEL_ERROR, "must not contain dots")
_PREFIXED: Final = (
    f"{_QUALIFIED_ERROR} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_SLASHES: Final = Reworded(f"a qualified name {_PREFIXED}", f"a valid label key {_PREFIXED}")


_LOWER: Final = ascii_lowercase + digits + "-"
_LOWER_OR_DOT: Final = _LOWER + "."
_LETTERS: Final = ascii_letters + digits + "-_."

# A text is stripped to nothing if it has no other letters than these.


def are_letters(text: str) -> bool:
    """Whether a text is one or more ASCII letters, digits, '-', '_' or '.'."""
    return text != "" and not text.strip(_LETTERS)


def _is_name(text: str) -> bool:
    """Whether `are_letters` holds and both ends are a letter or digit."""
    return are_letters(text) and text[0].isalnum() and text[-1].isalnum()


def _is_label(text: str) -> bool:
    """Lower-case letters, digits and '-', with a letter or digit at both ends."""
    return text != "" and not text.strip(_LOWER) and text[0] != "-" and text[-1] != "-"


def _is_subdomain(text: str) -> bool:
    """Labels separated by dots."""
    if "." not in text:
        return _is_label(text)
    if ".." in text or ".-" in text or "-." in text or text.strip(_LOWER_OR_DOT):
        return False
    return text[0].isalnum() and text[-1].isalnum()


def is_dns_label(text: str) -> bool:
    return len(text) <= 63 and _is_label(text)


def is_dns_subdomain(text: str) -> bool:
    return len(text) <= 253 and _is_subdomain(text)


def is_label_value(text: str) -> bool:
    return not text or (len(text) <= 63 and _is_name(text))


def is_qualified_name(text: str) -> bool:
    """A name with an optional DNS prefix: label and annotation keys, finalizers, resources."""
    if "/" not in text:
        return len(text) <= 63 and _is_name(text)
    prefix, _, name = text.partition("/")
    return len(name) <= 63 and _is_name(name) and is_dns_subdomain(prefix)


def _errors(text: str, limit: int, is_right: bool, error: str) -> list[str]:
    errors = [_too_long(limit)] if len(text) > limit else []
    if not is_right:
        errors.append(error)
    return errors


def dns_subdomain(text: str) -> list[str]:
    return _errors(text, 253, _is_subdomain(text), _SUBDOMAIN_ERROR)


_UNDERSCORE_LABEL: Final = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORE_SUBDOMAIN: Final = rf"{_UNDERSCORE_LABEL}(\.{_UNDERSCORE_LABEL})*"
_UNDERSCORE_NAME: Final = re.compile(rf"\A(?:{_UNDERSCORE_SUBDOMAIN})\Z", re.ASCII)
_UNDERSCORE_ERROR: Final = _regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or"
    " '.', and must start and end with an alphanumeric character",
    _UNDERSCORE_SUBDOMAIN,
    "example.com",
)


def subdomain_with_underscores(text: str) -> list[str]:
    """The errors of a search path of DNS."""
    return _errors(text, 253, bool(_UNDERSCORE_NAME.match(text[:254])), _UNDERSCORE_ERROR)


def dns_label(text: str) -> list[str]:
    error = _NO_DOTS if "." in text and is_dns_subdomain(text) else _DNS_LABEL_ERROR
    return _errors(text, 63, _is_label(text), error)


def dns_1035_label(text: str) -> list[str]:
    is_right = _is_label(text) and not text[0].isdigit()
    return _errors(text, 63, is_right, _DNS_1035_ERROR)


def path_segment(text: str) -> list[str]:
    """The errors of a text as one segment of a URL path."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    if "/" not in text and "%" not in text:
        return []
    return [f"may not contain '{letter}'" for letter in "/%" if letter in text]


def qualified_name(text: str) -> tuple[str, ...]:
    """The errors of a name that may have a DNS prefix."""
    if is_qualified_name(text):
        return ()
    errors: list[str] = []
    prefix, slash, name = text.partition("/")
    if not slash:
        prefix, name = "", text
    elif "/" in name:
        return (_SLASHES,)
    elif not prefix:
        errors.append("prefix part must be non-empty")
    else:
        errors += [f"prefix part {error}" for error in dns_subdomain(prefix)]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name) > 63:
        errors.append(_LONG_NAME)
    if not _is_name(name):
        errors.append(f"name part {_QUALIFIED_ERROR}")
    return tuple(errors)


def label_value(text: str) -> list[str]:
    errors: list[str] = [_LONG_LABEL] if len(text) > 63 else []
    if text and not _is_name(text):
        errors.append(_LABEL_VALUE_ERROR)
    return errors
