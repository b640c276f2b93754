"""Where the metadata lies in a stored body, told without reading all of it."""

from __future__ import annotations

import re

import orjson

_OPENING = b'"metadata":'
METADATA_START = len(_OPENING)

_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NUMBER = rb"[0-9]++"
_TEXTS = rb"\{(?:%b:%b,?+)*+\}" % (_TEXT, _TEXT)
_LIST = rb'\[(?:[^]"]++|%b)*+\]' % _TEXT
_FIELDS = (
    *((name, _TEXT) for name in (b"name", b"generateName", b"namespace", b"uid")),
    *((b"resourceVersion", _TEXT), (b"generation", _NUMBER), (b"creationTimestamp", _TEXT)),
    *((b"deletionTimestamp", _TEXT), (b"deletionGracePeriodSeconds", _NUMBER)),
    *((b"labels", _TEXTS), (b"annotations", _TEXTS)),
    *((b"ownerReferences", _LIST), (b"finalizers", _LIST)),
)
# Metadata up to its end, or up to what is in its last list.
_MANAGED = b'"managedFields":['
_BEGINNING = re.compile(
    rb'"metadata":\{'
    + b"".join(rb'(?:"%b":%b,?+)?+' % field for field in _FIELDS)
    + rb"(?:\}|%b)" % re.escape(_MANAGED)
)
_BEHIND_A_TEXT, _BRACE = b",:]}", b"}"[0]


def metadata_end(body: bytes) -> int:
    """Where the metadata of a body, which begins at METADATA_START, ends."""
    return _ends(body)[1]


def without_managed_fields(body: bytes) -> tuple[bytes, int]:
    """What a body tells beside who manages its fields, often half of it; and where its metadata
    ends."""
    managed, end = _ends(body)
    if managed == end:
        return body, end
    return b"%b}%b" % (body[:managed].removesuffix(b","), body[end:]), end


def _ends(body: bytes) -> tuple[int, int]:
    """Where the managed fields of the metadata begin, and where all of it ends; twice the end where
    it has none."""
    beginning = _BEGINNING.match(body)
    if beginning is None:
        end = _end_by_reading(body)
        return end, end
    at = beginning.end()
    if not body.endswith(_MANAGED, 0, at):
        return at, at
    managed, end = at - len(_MANAGED), body.find(b"]", at) + 2
    # The first bracket ends the list, unless there are lists in it or the bracket is in a text.
    # There the next quote would end the text, and no key could follow.
    ends = body.startswith(b',"', end) and body[end + 2] not in _BEHIND_A_TEXT
    if (ends or end + 1 == len(body)) and body[end - 1] == _BRACE and b"[" not in body[at:end]:
        return managed, end
    return managed, _end_by_reading(body)


def _end_by_reading(body: bytes) -> int:
    return METADATA_START + len(orjson.dumps(orjson.loads(b"{" + body)["metadata"]))
