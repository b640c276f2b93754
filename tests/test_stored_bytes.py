"""Only `storage` searches the bytes of stored objects. Other packages parse the object, or ask its
Version (`mentions`, `uid`, `owner_references`, `finalizers`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairlead

ROOT = Path(fairlead.__file__).parent
# codec and wire read what clients send.
READERS = ("storage", "codec", "wire")
# Modules with quotes in bytes, or a `body`, that have nothing to do with stored objects.
OTHER_BYTES = {
    "admission/webhooks/reviews.py": "writes an AdmissionReview",
    "api/answers.py": "writes a Warning header",
    "api/audit/bodies.py": "reads the kind of an answer",
    "api/audit/record.py": "writes an audit event",
    "api/audit/reads.py": "writes an audit event",
    "api/list.py": "writes a list",
    "api/openapi/answers.py": "writes an ETag header",
    "api/relay/links.py": "reads HTML",
    "api/stored_tables.py": "writes a Table",
    "api/watch_frames.py": "writes a watch event",
    "cli/envtest_programs.py": "writes the health of a simulated etcd",
    "console/files.py": "writes an ETag header, and reads HTML",
    "console/samples.py": "writes a list of samples",
    "controllers/aggregation/openapi/json_slices.py": "reads the document of an extension server",
    "controllers/simulation/agent/handlers.py": "reads the answer of a probe",
    "controllers/simulation/runtime/agnhost/servers.py": "writes HTML",
    "process/backup/shared_restore.py": "writes a mark",
    "resources/certificates/pem.py": "reads PEM",
    "resources/etcd_format/codec.py": "writes a value for etcd",
    "resources/registry.py": "writes the beginning of an object",
}
_SEARCHES = frozenset({
    *("count", "endswith", "find", "findall", "finditer", "fullmatch", "index", "match"),
    *("partition", "removeprefix", "removesuffix", "rfind", "rindex", "rpartition", "rsplit"),
    *("search", "split", "splitlines", "startswith"),
})  # fmt: skip


def _quotes(node: ast.AST) -> bool:
    """Whether a node is a bytes literal with a quote, or a text with one that is encoded."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
        return b'"' in node.value
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    texts = [part for part in ast.walk(node.func.value) if isinstance(part, ast.Constant)]
    literal = isinstance(node.func.value, ast.Constant | ast.JoinedStr)
    return node.func.attr == "encode" and literal and any('"' in str(part.value) for part in texts)


def _is_body(node: ast.AST) -> bool:
    """Whether an expression has the body of a version: `version.body`, `version.body or b""`."""
    if isinstance(node, ast.BoolOp):
        return any(map(_is_body, node.values))
    if isinstance(node, ast.IfExp):
        return _is_body(node.body) or _is_body(node.orelse)
    if isinstance(node, ast.Attribute) and node.attr == "body":
        return not (isinstance(node.value, ast.Name) and node.value.id == "request")
    return isinstance(node, ast.Name) and node.id == "body"


def _searches(node: ast.AST) -> bool:
    """Whether a node looks into the body of a version: by `in`, by a method, or by a slice."""
    if isinstance(node, ast.Compare):
        return any(
            isinstance(operator, ast.In | ast.NotIn) and _is_body(searched)
            for operator, searched in zip(node.ops, node.comparators, strict=True)
        )
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Slice) and _is_body(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _SEARCHES and any(map(_is_body, (node.func.value, *node.args)))
    return False


def _violations(source: str) -> Iterator[int]:
    """Lines with patterns for stored objects, or with a search in their bytes."""
    for node in ast.walk(ast.parse(source)):
        if _quotes(node) or _searches(node):
            assert isinstance(node, ast.expr)
            yield node.lineno


@pytest.mark.parametrize(
    "line",
    [
        "b'\"taints\":' in x",
        'named = b\'"claimName":"%b"\' % claim',
        "pattern = re.compile(rb'\"priority\":([0-9]+)')",
        "mark = f'\"{name}\"'.encode()",
        "name.encode() in version.body",
        'name.encode() not in (version.body or b"")',
        "version.body.find(pattern)",
        "pattern.search(version.body)",
        'body = version.body or b""; body[3:5]',
        "pattern not in body",
    ],
)
def test_a_search_in_stored_bytes_is_seen(line: str) -> None:
    assert list(_violations(line))


@pytest.mark.parametrize(
    "line",
    [
        'b"host" in headers',
        "len(version.body or b'')",
        "request.body.startswith(b'{')",
        "version.body is None",
        "f'{name}'.encode()",
        "head + version.body",
    ],
)
def test_other_uses_of_bytes_are_not_searches(line: str) -> None:
    assert not list(_violations(line))


@pytest.mark.parametrize(
    "package", sorted(path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file())
)
def test_only_storage_searches_the_bytes_of_stored_objects(package: str) -> None:
    if package in READERS:
        return
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if str(path.relative_to(ROOT)) not in OTHER_BYTES
        for line in _violations(path.read_text())
    ]
    assert found == []


def test_every_exception_is_needed() -> None:
    assert [name for name in OTHER_BYTES if not list(_violations((ROOT / name).read_text()))] == []
