"""Parses a permission question from the command line, and sends access reviews to the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation
from fairlead.client import Client, ResourceType, UnknownResource
from fairlead.client.session import Request

_WRITING = {"create", "update", "patch", "delete", "deletecollection"}
_SPECIAL = {"use", "bind", "impersonate", "escalate", "proxy", "approve", "sign", "attest", "*"}
_RESOURCE_VERBS = {"get", "list", "watch"} | _WRITING | _SPECIAL
_PATH_VERBS = {"get", "put", "post", "head", "options", "delete", "patch", "*"}


@dataclass(frozen=True, slots=True)
class Question:
    """Whether an action is permitted, on a resource or on a non-resource path."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    type: ResourceType | None = None  # None if the server does not serve it

    @property
    def spec(self) -> dict[str, Any]:
        """The spec of an access review."""
        if self.path:
            return {"nonResourceAttributes": {"path": self.path, "verb": self.verb}}
        parts = {
            "verb": self.verb,
            "group": self.group,
            "resource": self.resource,
            "subresource": self.subresource,
            "namespace": self.namespace,
            "name": self.name,
        }
        return {"resourceAttributes": {name: text for name, text in parts.items() if text}}

    @property
    def full_resource(self) -> str:
        """The resource as in roles: pods/log."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def add_question_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="VERB KIND[/NAME] | VERB /PATH", nargs="*")
    parser.add_argument(
        "--subresource", metavar="NAME", default="", help="subresource, such as log or scale"
    )
    parser.add_switch("-A", "--all-namespaces", help="check for all namespaces")


async def question_of(invocation: Invocation, *, warns_of_scope: bool = True) -> Question:
    """Parse the question from the words, and warn about unlikely input; raises UsageError.
    `minds_scope` enables the warning that a cluster-scoped resource ignores the namespace."""
    words, subresource = invocation.options.words, invocation.options.subresource
    if len(words) not in (2, 3):
        raise UsageError("say what is asked, as in get pods, update configmap/web or get /metrics")
    verb = words[0]
    if words[1].startswith("/"):
        if subresource:
            raise UsageError("--subresource is for resources, not for a path such as /healthz")
        if len(words) == 3:
            raise UsageError("a path such as /healthz has no object: leave out the name")
        if verb not in _PATH_VERBS:
            _warn(invocation, f"no path has the verb '{verb}'")
        return Question(verb, path=words[1])
    word, _, name = words[1].partition("/")
    if len(words) == 3:
        if name:
            raise UsageError("a name can be given once, as KIND/NAME or as KIND NAME")
        name = words[2]
    type = await _type(invocation, word)
    namespace = "" if invocation.options.all_namespaces else invocation.namespace
    if warns_of_scope and type is not None and not type.namespaced and namespace:
        group = f" in group '{type.group}'" if type.group else ""
        _warn(
            invocation,
            f"'{type.name}'{group} is in no namespace: the question is about the whole cluster",
        )
    if verb not in _RESOURCE_VERBS and not invocation.options.all_namespaces:
        _warn(invocation, f"no resource has the verb '{verb}'")
    if type is None:
        return Question(verb, "", word, subresource, namespace, name)
    return Question(verb, type.group, type.name, subresource, namespace, name, type=type)


async def _type(invocation: Invocation, word: str) -> ResourceType | None:
    if word == "*":
        return None
    try:
        return await invocation.client.discovery.find(word)
    except UnknownResource:
        name, _, group = word.partition(".")
        where = f" in group '{group}'" if group else ""
        _warn(invocation, f"the server does not serve '{name}'{where}")
        return None


def _warn(invocation: Invocation, text: str) -> None:
    invocation.screen.warn(f"Warning: {text}\n")


async def review(client: Client, kind: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Create a review in the authorization group and return its status; raises errors of
    requests."""
    group = (await client.discovery.dialect()).group_name("authorization.@")
    body = {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}
    path = f"/apis/{group}/v1/{kind.lower()}s"
    answer = await client.session.json(Request("POST", path, body=orjson.dumps(body)))
    return dict(answer.get("status") or {})
