"""The syntax of names: of objects, labels and their parts. Each check gives the list of what is
wrong, empty when nothing is."""

from __future__ import annotations

import re

from fairlead.bounded import remembered

_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_DNS_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = rf"({_QUALIFIED})?"


def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\A(?:{pattern})\Z", re.ASCII)


_IS_DNS_LABEL = _whole(_DNS_LABEL)
_IS_DNS_SUBDOMAIN = _whole(_DNS_SUBDOMAIN)
_IS_DNS_1035 = _whole(_DNS_1035)
_IS_QUALIFIED = _whole(_QUALIFIED)
_IS_SHORT_NAME = _whole(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_IS_LABEL_VALUE = _whole(_LABEL_VALUE)
_IS_SHORT_LABEL = _whole(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def _regex_error(what: str, pattern: str, *examples: str) -> str:
    shown = "".join(f"'{example}',  or " for example in examples[:-1]) + f"'{examples[-1]}'"
    return f"{what} (e.g. {shown}, regex used for validation is '{pattern}')"


_SUBDOMAIN_ERROR = _regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character",
    _DNS_SUBDOMAIN,
    "example.com",
)
_DNS_LABEL_ERROR = _regex_error(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and"
    " must start and end with an alphanumeric character",
    _DNS_LABEL,
    "my-name",
    "123-abc",
)
_DNS_1035_ERROR = _regex_error(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an"
    " alphabetic character, and end with an alphanumeric character",
    _DNS_1035,
    "my-name",
    "abc-123",
)
_QUALIFIED_ERROR = _regex_error(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character",
    _QUALIFIED,
    "MyName",
    "my.name",
    "123-abc",
)
_LABEL_VALUE_ERROR = _regex_error(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or"
    " '.', and must start and end with an alphanumeric character",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


def _check(text: str, limit: int, pattern: re.Pattern[str], error: str) -> list[str]:
    wrong = [_too_long(limit)] if len(text) > limit else []
    if not pattern.match(text):
        wrong.append(error)
    return wrong


def dns_subdomain(text: str) -> list[str]:
    if _IS_SHORT_LABEL.match(text):
        return []
    return _check(text, 253, _IS_DNS_SUBDOMAIN, _SUBDOMAIN_ERROR)


def dns_label(text: str) -> list[str]:
    if _IS_SHORT_LABEL.match(text):
        return []
    return _check(text, 63, _IS_DNS_LABEL, _DNS_LABEL_ERROR)


def dns_1035_label(text: str) -> list[str]:
    return _check(text, 63, _IS_DNS_1035, _DNS_1035_ERROR)


def path_segment(text: str) -> list[str]:
    """What may stand in a URL path as one step."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{letter}'" for letter in "/%" if letter in text]


def qualified_name(text: str) -> tuple[str, ...]:
    """A name with an optional DNS prefix: label and annotation keys, finalizers, resources."""
    return () if _IS_SHORT_NAME.match(text) else _qualified_name(text)


@remembered(4096)
def _qualified_name(text: str) -> tuple[str, ...]:
    wrong: list[str] = []
    prefix, slash, name = text.partition("/")
    if not slash:
        prefix, name = "", text
    elif "/" in name:
        return (
            "a qualified name "
            + _QUALIFIED_ERROR
            + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    elif not prefix:
        wrong.append("prefix part must be non-empty")
    else:
        wrong += [f"prefix part {error}" for error in dns_subdomain(prefix)]
    if not name:
        wrong.append("name part must be non-empty")
    elif len(name) > 63:
        wrong.append(f"name part {_too_long(63)}")
    if not _IS_QUALIFIED.match(name):
        wrong.append(f"name part {_QUALIFIED_ERROR}")
    return tuple(wrong)


def label_value(text: str) -> list[str]:
    if _IS_SHORT_NAME.match(text):
        return []
    return _check(text, 63, _IS_LABEL_VALUE, _LABEL_VALUE_ERROR)
