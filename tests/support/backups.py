"""Runs the commands that copy stores, and reads their results."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import redirect_stderr
from hashlib import sha256
from io import BytesIO, StringIO
from pathlib import Path

from fairlead.cli import main
from fairlead.process.backup.archive import Archive, Header, pieces
from fairlead.process.backup.series import Series, reach
from fairlead.storage.backend import Row, Write
from fairlead.storage.sqlite.backend import SqliteBackend
from support.client import Client, Object
from support.process import ServerProcess
from support.waiting import eventually

# Limits the size of files to 64 KiB. Lifted at exit, so that coverage can write its data.
SMALL_FILES = (
    "import atexit, resource as r; r.setrlimit(r.RLIMIT_FSIZE, (65536, r.RLIM_INFINITY));"
    " atexit.register(r.setrlimit, r.RLIMIT_FSIZE, (r.RLIM_INFINITY, r.RLIM_INFINITY))"
)
Everything = dict[tuple[str, ...], Object]

HEADER = Header("cluster", 9, "2026-01-02T03:04:05Z")
ROWS = [
    Row(3, "apps/deployments", "ns/web", 0, "apps/v1", b'{"metadata":{"name":"web"}}'),
    Row(
        7, "core/configmaps", "ns/\t\n odd", 0, "v1", b'{"metadata":{"name":"x"},"data":"\xc3\xa4"}'
    ),
    Row(9, "core/namespaces", "ns", 0, "v1", b'{"metadata":{"name":"ns"}}'),
]


def command(*words: object, prelude: str = "") -> list[str]:
    """Return the command line of a separate process."""
    if not prelude:
        return [sys.executable, "-m", "fairlead", *map(str, words)]
    program = f"{prelude}; import sys; from fairlead.cli import main; sys.exit(main())"
    return [sys.executable, "-c", program, *map(str, words)]


def fairlead(*words: object, prelude: str = "") -> tuple[int, str]:
    """Return the exit code of a command and its error output; with a prelude it runs in its own
    process."""
    if prelude:
        done = subprocess.run(
            command(*words, prelude=prelude),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stderr
    with redirect_stderr(StringIO()) as output:
        try:
            code = main(list(map(str, words)))
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, output.getvalue()


def succeed(*words: object) -> str:
    """Run a command that must succeed; return its output."""
    code, output = fairlead(*words)
    assert code == 0, output
    return output


def refusal(*words: object, prelude: str = "") -> str:
    """Run a command that must fail; return its error, which is one line."""
    code, output = fairlead(*words, prelude=prelude)
    assert code == 1, output
    assert output.count("\n") == 1, output
    return output


def archive(content: bytes) -> Archive:
    return Archive(Path("FILE"), BytesIO(content))


def packed(header: Header = HEADER, rows: list[Row] | None = None) -> bytes:
    return b"".join(pieces(header, ROWS if rows is None else rows))


def admin_config(server: ServerProcess) -> Path:
    return server.data / "admin.kubeconfig"


def token_config(server: ServerProcess, path: Path, token: str) -> Path:
    """A client configuration file of a user with a token."""
    cluster = {"server": server.address, "certificate-authority": str(server.ca)}
    config = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "it", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "it",
    }
    path.write_text(json.dumps(config))
    return path


def plain_config(path: Path, port: int) -> Path:
    """A client configuration file of a server that speaks plain HTTP."""
    config = {
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "contexts": [{"name": "it", "context": {"cluster": "c"}}],
        "current-context": "it",
    }
    path.write_text(json.dumps(config))
    return path


def everything(client: Client) -> Everything:
    """Every object that can be listed."""
    result: Everything = {}
    groups = client.get("/apis").body["groups"]
    for base in (
        "/api/v1",
        *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups),
    ):
        for resource in client.get(base).body["resources"]:
            if "list" in resource["verbs"]:
                for item in client.get(f"{base}/{resource['name']}").body["items"]:
                    metadata = item["metadata"]
                    place = (resource["name"], metadata.get("namespace", ""), metadata["name"])
                    result[base, *place] = item
    return result


def make_store(directory: Path, *keys: str, dialect: str = "cluster") -> int:
    """A data directory with some objects, all of them changed once, and a deleted one; its
    revision. What is in them cannot be packed."""
    backend = SqliteBackend(directory, dialect)
    backend.open()
    writes: list[Write] = []
    for key in (*keys, "deleted"):
        value = b'{"metadata":{"name":"%b%b"}}' % (
            key.encode(),
            sha256(key.encode()).hexdigest().encode(),
        )
        first = Write("core/things", key, "v1", value, 0)
        then = Write("core/things", key, "v1", value if key in keys else None, first)
        writes += (first, then)
    backend.append(writes)
    revision = backend.revision
    backend.close()
    return revision


def stored(directory: Path) -> tuple[int, list[Row]]:
    """The revision and the objects of a data directory."""
    backend = SqliteBackend(directory)
    backend.open()
    try:
        return backend.revision, sorted(row._replace(previous=0) for row in backend.heads())
    finally:
        backend.close()


class Follower:
    """`fairlead backup --follow` as a process of its own, on a directory of backups."""

    def __init__(self, directory: Path, *words: object, prelude: str = "") -> None:
        self.series = Series(directory)
        call = command("backup", "--follow", directory, *words, prelude=prelude)
        self.process = subprocess.Popen(call, stderr=subprocess.PIPE, text=True)

    def reached(self) -> int:
        newest = self.series.newest() if self.series.directory.is_dir() else None
        return reach(newest).revision if newest is not None and newest.journal.exists() else 0

    def has(self, revision: str | int) -> None:
        """Wait until the journal has a revision."""
        eventually(lambda: self.reached() >= int(revision), f"revision {revision} is followed")

    def stop(self) -> str:
        """Stop it by a signal; return its error output."""
        self.process.terminate()
        return self.process.communicate(timeout=20)[1]
