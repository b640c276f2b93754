"""The candidates for words and flag values: kinds, names, namespaces, contexts, formats."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from fairlead.cli.arguments import Flag, Options
from fairlead.cli.catalog import COMMANDS
from fairlead.cli.commands import completion
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.flags import FORMATS
from fairlead.client.access.files import read_configuration, sources_of
from fairlead.client.resources import METADATA_LIST

CandidateSource = Callable[[Options], Awaitable[dict[str, str]]]

_MAX_CANDIDATES = 500
_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_SHORT_FORMATS = ("json", "yaml", "name")
# Commands whose first word is not a kind: the kind of candidates per position. The last entry also
# applies to all further positions.
_PLACES: dict[str, tuple[str, ...]] = {
    "logs": ("names of pods",),
    "exec": ("names of pods",),
    "attach": ("names of pods",),
    "port-forward": ("names of pods", ""),
    "debug": ("names of pods",),
    "top pods": ("names of pods",),
    "top nodes": ("names of nodes",),
    "auth can-i": ("verbs", "kinds"),
    "auth why": ("verbs", "kinds"),
    "certificate approve": ("names of certificatesigningrequests",),
    "certificate deny": ("names of certificatesigningrequests",),
    "simulate node": ("names of nodes",),
    "token create": ("names of serviceaccounts",),
    "config use-context": ("contexts",),
    "config rename-context": ("contexts", ""),
    "config delete-context": ("contexts",),
    "config set-context": ("contexts",),
    "config get-contexts": ("contexts",),
    "completion": ("shells",),
    "explain": ("kinds", ""),
    "watch": ("kinds",),
}


def offers_for(command: str, before: Sequence[str], current: str) -> CandidateSource | None:
    """The candidates for the next word of a command after the words `before`."""
    places = _PLACES.get(command)
    if places is not None:
        return _offers(places[min(len(before), len(places) - 1)])
    if not COMMANDS[command].usage.startswith("KIND"):
        return None
    if "/" in current or any("/" in word for word in before):
        return _pairs(current.partition("/")[0])
    if before:
        return _names(before[0])
    head, comma, _ = current.rpartition(",")
    return _kinds(f"{head}{comma}")


def value_offers(command: str, flag: Flag) -> CandidateSource | None:
    """The candidates for the value of a flag."""
    if flag.dest == "namespace":
        return _names("namespaces")
    if flag.dest == "context":
        return _contexts
    if flag.dest == "output":
        if command == "get":
            return _fixed(
                [
                    f"{format}=" if "-" in format or "path" in format else format
                    for format in FORMATS
                ]
            )
        listed = flag.help.partition("one of ")[2]
        return _fixed([part.strip() for part in listed.split(",") if part] or _SHORT_FORMATS)
    return None


def _offers(source: str) -> CandidateSource | None:
    if source.startswith("names of "):
        return _names(source.removeprefix("names of "))
    if source == "shells":
        return _fixed(list(completion.SCRIPTS))
    return {
        "verbs": _fixed(_VERBS),
        "kinds": _kinds(""),
        "contexts": _contexts,
    }.get(source)


def _fixed(words: Sequence[str]) -> CandidateSource:
    async def offers(options: Options) -> dict[str, str]:
        return dict.fromkeys(words, "")

    return offers


async def _contexts(options: Options) -> dict[str, str]:
    configuration = read_configuration(sources_of(options.kubeconfig))
    return dict.fromkeys(configuration.entries["contexts"], "")


def _kinds(front: str) -> CandidateSource:
    """Resource names; with their group if the plain name is already taken."""

    async def offers(options: Options) -> dict[str, str]:
        invocation = Invocation(options)
        try:
            kinds: dict[str, str] = {}
            for type in await invocation.client.discovery.all_resources():
                if "list" in type.verbs:
                    name = type.name if type.name not in kinds else type.qualified
                    kinds.setdefault(name, type.api_version)
            return {f"{front}{name}": description for name, description in kinds.items()}
        finally:
            await invocation.close()

    return offers


def _names(kind: str) -> CandidateSource:
    async def offers(options: Options) -> dict[str, str]:
        invocation = Invocation(options)
        try:
            resource = await invocation.client.resource(kind.partition(",")[0])
            page = await resource.page(
                invocation.namespace, accept=METADATA_LIST, limit=_MAX_CANDIDATES
            )
            return {str(item["metadata"]["name"]): "" for item in page["items"]}
        finally:
            await invocation.close()

    return offers


def _pairs(kind: str) -> CandidateSource:
    """KIND/NAME candidates."""

    async def offers(options: Options) -> dict[str, str]:
        if not kind:
            return {}
        return {
            f"{kind}/{name}": description
            for name, description in (await _names(kind)(options)).items()
        }

    return offers
