"""`fairlead console --all-contexts`, as a process that tests talk to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from support.client_configs import Fields, cluster_of, write
from support.following import Following
from support.process import ServerProcess


def contexts_file(path: Path, current: str, **places: tuple[Fields, Fields]) -> Path:
    """Write a configuration with these contexts, each of a cluster and a user."""
    named = list(places.items())
    value = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "clusters": [{"name": name, "cluster": place[0]} for name, place in named],
        "users": [{"name": name, "user": place[1]} for name, place in named],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in places],
    }
    return write(path, value)


def place_of(server: ServerProcess, token: str) -> tuple[Fields, Fields]:
    return cluster_of(server), {"token": token}


class Answered(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)


class LocalConsole:
    """A running console, and its client."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self.title = following.line()
        self.link = following.line().rpartition(" ")[2]
        self.host = urlsplit(self.link).netloc
        self.origin = f"http://{self.host}"

    def next_link(self) -> str:
        """The link that is printed when one was used."""
        self.link = self._following.line().rpartition(" ")[2]
        return self.link

    @property
    def code(self) -> str:
        return self.link.partition("#code=")[2]

    def __call__(
        self, path: str, method: str = "GET", token: str = "", body: Any = None, **headers: str
    ) -> Answered:
        """Send a request; `Host` can be given, and `_` in names of headers is a hyphen."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = HTTPConnection(self.host, timeout=30)
        text = json.dumps(body) if body is not None else None
        connection.request(method, path, text, sent)
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        content = answer.read().decode()
        connection.close()
        return Answered(answer.status, named, content)

    def sign_in(self) -> str:
        """Use the link; returns the token of the page."""
        answer = self("/console/session", "POST", body={"code": self.code})
        assert answer.status == 201, answer.text
        self.next_link()
        token: str = answer.body["token"]
        return token

    def token_for(self, context: str, token: str) -> str:
        answer = self("/console/context", "POST", token, {"name": context})
        assert answer.status == 201, answer.text
        chosen: str = answer.body["token"]
        return chosen


@contextmanager
def local_console(config: Path, *words: str) -> Iterator[LocalConsole]:
    words = ("console", "--all-contexts", "--print", *words)
    with Following(None, *words, "--kubeconfig", str(config)) as following:
        yield LocalConsole(following)
        assert following.interrupt() == 130
