"""Scripts without what only their authors read: comments and indentation.

It goes by lines, as scripts are written here: a comment of several lines stands alone, and no
template goes over the end of a line (a test holds both).
"""

from __future__ import annotations

import re

_COMMENT = re.compile(rb"^[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
# Behind a statement; with a quotation mark it could be part of a text.
_REMARK = re.compile(rb"(?<=[;,{]) +// [^\n\"'`]*$", re.MULTILINE)
_TYPE = re.compile(rb"/\*\* @type [^*\n\"'`]*\*/ ?")
_INDENT = re.compile(rb"^[ \t]+|\n(?=\n)", re.MULTILINE)


def thin(script: bytes) -> bytes:
    return _INDENT.sub(b"", _TYPE.sub(b"", _REMARK.sub(b"", _COMMENT.sub(b"", script))))
