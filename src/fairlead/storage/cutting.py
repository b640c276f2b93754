"""Where the metadata lies in a stored body, told without reading all of it."""

from __future__ import annotations

import re

import orjson

_OPENING = b'"metadata":'
METADATA_START = len(_OPENING)

_TEXT = rb'"(?:[^"\\]++|\\.)*+"'
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
_BEHIND_A_TEXT = b",:]}"
_MOST_BRACKETS = 64


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
    managed = at - len(_MANAGED)
    # There are no lists in managed fields: the first bracket outside of a text ends them.
    for _ in range(_MOST_BRACKETS):
        at = body.find(b"]", at) + 1
        if not at:
            break
        if body.startswith(b'},"', at):
            # Within a text this quote would end it, and no key could follow.
            if body[at + 3] in _BEHIND_A_TEXT:
                break
            return managed, at + 1
        if at + 2 == len(body):
            return managed, at + 1
    return managed, _end_by_reading(body)


def _end_by_reading(body: bytes) -> int:
    return METADATA_START + len(orjson.dumps(orjson.loads(b"{" + body)["metadata"]))
