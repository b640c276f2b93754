"""The form of a row in backups and journals: a line that describes the row, then its value.

["core/pods","default/a",17,"v1",312]⏎   resource, key, revision, apiVersion, length of the value,
                                         null for a deletion
{"metadata":…}⏎                          the value
"""

from __future__ import annotations

from io import BufferedIOBase
from typing import Any

import orjson

from fairlead.storage.backend import Row

_MAX_LINE_BYTES = 64 * 1024
_MAX_VALUE_BYTES = 64 << 20  # the first release had no limit


def encode_row(row: Row) -> bytes:
    revision, resource, key, _, api_version, value = row
    length = None if value is None else len(value)
    head = orjson.dumps([resource, key, revision, api_version, length])
    return b"%b\n%b\n" % (head, value or b"")


def read_row(stream: BufferedIOBase) -> Row | None:
    """Read the next row; None at the end of the stream. Raises ValueError if it is not one."""
    line = stream.readline(_MAX_LINE_BYTES)
    if not line:
        return None
    fields: Any = orjson.loads(line)
    if not isinstance(fields, list) or len(fields) != 5:
        raise ValueError("not five fields")
    resource, key, revision, api_version, length = fields
    if not all(type(text) is str for text in (resource, key, api_version)):
        raise ValueError("a text is missing")
    if type(revision) is not int or type(length) not in (int, type(None)):
        raise ValueError("a number is missing")
    if length is not None and not 0 < length <= _MAX_VALUE_BYTES:
        raise ValueError(f"a value of {length} bytes")
    value = stream.read(length or 0)
    if len(value) != (length or 0) or stream.read(1) != b"\n":
        raise ValueError("the value is not whole")
    return Row(revision, resource, key, 0, api_version, value if length is not None else None)
