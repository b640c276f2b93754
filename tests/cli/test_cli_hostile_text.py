"""Hostile text on a terminal: it is shown, and controls nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from support.commands import Commands, run_words
from support.hostile_api import HOSTILE, hostile_api
from support.namespaces import Collection, Space
from support.process import ServerProcess
from support.pseudo_terminal import seen_on_terminal, shown_on_terminal
from support.waiting import eventually

from fairlead.cli.catalog import COMMANDS

_OWN_COLOURS = re.compile(r"\x1b\[(?:[012]|3[1-6])(?:;(?:[012]|3[1-6]))*m")
_MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {new: value}\n"
_KIND_OF_EACH = "cm,deployments,pods,nodes,events,crds,secrets,sa,apiservices"
# Words of every command; FILE is a manifest, HOSTILE a name, CONFIG a configuration to change.
WORDS = {
    "get": f"{_KIND_OF_EACH}; cm -o json; cm -o yaml; cm -o name; cm a -o jsonpath={{}};"
    " cm -o custom-columns=A:.metadata.name,B:.data; pods -o wide --show-labels -L app;"
    " cm --sort-by=.data; cm HOSTILE; HOSTILE; --raw /api/v1/namespaces/SPACE/configmaps;"
    " cm -o jsonpath={.items[*].data}; cm --watch --output-watch-events;"
    " cm -o jsonpath-as-json={.items[*].data}; cm -o jsonpath={.items[0].data[1]}",
    "describe": f"{_KIND_OF_EACH}; cm HOSTILE",
    "explain": "pods.spec; things; things.spec --recursive; things.HOSTILE",
    "events": "; -o json; --for pod/HOSTILE",
    "logs": "deployment/web; deployment/web --prefix --timestamps; -l app=web; HOSTILE",
    "exec": "deployment/web -- ls; HOSTILE -- ls; deployment/web -c HOSTILE -- ls",
    "attach": "deployment/web; HOSTILE",
    "cp": "HOSTILE:/a FILE; FILE HOSTILE:/a; HOSTILE nosuch:/a; /noHOSTILE nosuch:/a",
    "port-forward": "deployment/web 0:80; HOSTILE 80; deployment/web HOSTILE; svc/HOSTILE 80",
    "debug": "HOSTILE --image=i; node/HOSTILE --image=i; nosuch --image=i --profile=HOSTILE",
    "top nodes": "; HOSTILE",
    "top pods": "; -A --containers --sum; HOSTILE",
    "watch": "cm --limit 1; cm --limit 1 -o json; cm --limit 1 --diff",
    "tree": "deployment web; cm HOSTILE",
    "owners": "deployment web; deployment web -o json; deployment web -o yaml",
    "history": "cm a; cm a --diff; cm a -o json",
    "console": "--print",
    "create": "-f FILE; -f FILE -o yaml --dry-run=client; cm HOSTILE; -f HOSTILE; cm x --from-x",
    "run": "r1 --image=HOSTILE; HOSTILE --image=i; r2 --image=i --env=HOSTILE",
    "expose": "deployment web --port=80 --name=e1; deployment HOSTILE; cm a; -f FILE",
    "apply": "-f FILE; -f FILE --client-side; -f FILE -o yaml",
    "apply view-last-applied": "cm a; cm HOSTILE; -f FILE",
    "apply set-last-applied": "-f FILE; -f FILE --create-annotation -o yaml; -f HOSTILE",
    "apply edit-last-applied": "cm a; cm HOSTILE",
    "diff": "-f FILE; -f FILE --show-managed-fields",
    "edit": "cm a; cm a -o json",
    "patch": 'cm a -p {"data":{"b":"HOSTILE"}}; cm a -p HOSTILE; cm a --type=json -p [1]',
    "replace": "-f FILE; -f HOSTILE",
    "delete": "cm gone --wait=false; cm HOSTILE; --raw /api/v1/namespaces/SPACE/configmaps/none",
    "label": "cm a x=y --overwrite; cm a x=z; cm a HOSTILE=y; cm a --list",
    "annotate": "cm a x=HOSTILE --overwrite; cm a x=z; cm a --list",
    "scale": "deployment web --replicas=1; deployment HOSTILE --replicas=1",
    "autoscale": "deployment web --max=3; deployment HOSTILE --max=3; deployment web --max=HOSTILE",
    "set image": "deployment/web *=HOSTILE; deployment/HOSTILE a=b; deployment/web HOSTILE=b",
    "set env": "deployment/web A=HOSTILE; deployment/HOSTILE A=b; deployment/web --list; HOSTILE",
    "set resources": "deployment/web --limits=cpu=HOSTILE; deployment/HOSTILE --limits=cpu=1",
    "set selector": "service web HOSTILE; service HOSTILE a=b",
    "set serviceaccount": "deployment web HOSTILE; deployment HOSTILE default",
    "set subject": "rolebinding HOSTILE --user=a; rolebinding a --user=HOSTILE",
    "cordon": "HOSTILE; -l HOSTILE",
    "uncordon": "HOSTILE; -l HOSTILE",
    "drain": "HOSTILE; -l HOSTILE",
    "taint": "nodes HOSTILE a=b:NoSchedule; nodes nosuch HOSTILE",
    "kustomize": "HOSTILE",
    "plugin list": "",
    "wait": "cm a --for=jsonpath={.data.key}=HOSTILE --timeout=0; cm a --for=HOSTILE",
    "rollout status": "deployment web --watch=false; deployment HOSTILE",
    "rollout history": "deployment web; deployment web --revision=1; deployment web -o yaml",
    "rollout undo": "deployment web --dry-run=client; deployment web --to-revision=1",
    "rollout restart": "deployment web; cm a",
    "rollout pause": "deployment web",
    "rollout resume": "deployment web",
    "simulate node": "HOSTILE --silent 1s; HOSTILE --pressure HOSTILE; HOSTILE --silent HOSTILE",
    "auth can-i": "get HOSTILE; HOSTILE pods; --list; get /HOSTILE",
    "auth reconcile": "-f FILE; -f HOSTILE",
    "auth whoami": "; -o json; -o yaml",
    "auth why": "get pods; get HOSTILE; --as HOSTILE get pods",
    "certificate approve": "HOSTILE; nosuch",
    "certificate deny": "nosuch",
    "token create": "default; HOSTILE",
    "bootstrap-token create": "--description=HOSTILE; HOSTILE",
    "bootstrap-token list": "; -o json",
    "bootstrap-token delete": "abcdef; HOSTILE",
    "api-resources": "; -o wide; -o name; --api-group=HOSTILE",
    "api-versions": "",
    "cluster-info": "; dump; dump -A -o yaml; HOSTILE",
    "proxy": "--port=99999; --www=HOSTILE; --accept-paths=(HOSTILE; --unix-socket=/no/HOSTILE",
    "raw": "/api/v1/namespaces/SPACE/configmaps; /api/v1/namespaces/SPACE/pods/HOSTILE; /nosuch",
    "version": "; -o json; -o yaml",
    "config view": "; --raw -o json; --minify; -o jsonpath={}",
    "config get-contexts": "; -o name; HOSTILE",
    "config get-clusters": "",
    "config get-users": "",
    "config current-context": "",
    "config use-context": "HOSTILE; oddHOSTILE",
    "config set-context": "bHOSTILE --cluster=HOSTILE; --current --namespace=HOSTILE",
    "config set-cluster": "bHOSTILE --server=HOSTILE",
    "config set-credentials": "bHOSTILE --token=HOSTILE",
    "config rename-context": "bHOSTILE c; nosuchHOSTILE c",
    "config delete-context": "c; HOSTILE",
    "config delete-cluster": "bHOSTILE; HOSTILE",
    "config delete-user": "bHOSTILE; HOSTILE",
    "config set": "users.HOSTILE.x y; HOSTILE x; current-context HOSTILE",
    "config unset": "HOSTILE; users.nosuchHOSTILE",
    "options": "",
    "completion": "bash; HOSTILE",
}


def test_every_command_is_tried() -> None:
    assert WORDS.keys() == COMMANDS.keys()


@pytest.fixture(scope="module")
def space(simulated: ServerProcess) -> Iterator[Space]:
    """A namespace with objects whose texts are as hostile as a server accepts."""
    client = simulated.client()
    space = Space(simulated, client)
    space.config_maps.create("a", data={"key": HOSTILE}, metadata={"annotations": {"x": HOSTILE}})
    container = {"name": "c", "image": "i"}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    selector = {"matchLabels": {"app": "web"}}
    deployments = space.collection("deployments", "apps")
    deployments.create("web", spec={"selector": selector, "template": template})
    field = {"type": "string", "description": f"field{HOSTILE}"}
    schema = {"type": "object", "description": HOSTILE, "properties": {"spec": field}}
    names = {"kind": "Thing", "plural": "things", "singular": "thing"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    space.everywhere("customresourcedefinitions", "apiextensions.@").create(
        "things.hostile.example",
        spec={
            "group": "hostile.example",
            "names": names,
            "scope": "Namespaced",
            "versions": [version],
        },
    )
    eventually(lambda: client.get("/apis/hostile.example/v1").status == 200, "things served")
    eventually(lambda: deployments.read("web")["status"].get("readyReplicas") == 1, "a pod")
    yield space
    space.everywhere("customresourcedefinitions", "apiextensions.@").remove(
        "things.hostile.example"
    )
    space.leave()
    client.close()


def _lines(name: str, file: Path, space: str) -> Iterator[list[str]]:
    for line in WORDS[name].split(";"):
        text = line.strip().replace("FILE", str(file)).replace("SPACE", space)
        yield [*name.split(), *(word.replace("HOSTILE", HOSTILE) for word in text.split())]


def _obeyed(seen: str) -> str:
    """Return the characters that control a terminal, except colours, line ends and tabs."""
    left = _OWN_COLOURS.sub("", seen).replace("\n", "").replace("\t", "")
    return "".join(letter for letter in left if ord(letter) < 0x20 or letter in _CONTROLS)


@contextmanager
def _changing(space: Space) -> Iterator[None]:
    """A ConfigMap changes all the time."""
    done = threading.Event()

    def change() -> None:
        client = space.server.client()
        collection = Collection(client, space.config_maps.path)
        while not done.wait(0.1):
            collection.patch("a", {"data": {"time": str(time.monotonic())}})
        client.close()

    changer = threading.Thread(target=change)
    changer.start()
    yield
    done.set()
    changer.join()


_CONTROLS = {chr(code) for code in range(0x7F, 0xA0)} | set("\u061c\u200e\u200f")
_CONTROLS |= {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


@pytest.mark.parametrize("refuses", [False, True], ids=["answers", "refusals"])
@pytest.mark.parametrize("name", sorted(WORDS))
def test_a_terminal_obeys_nothing(name: str, refuses: bool, space: Space, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(_MANIFEST)
    with hostile_api(space.server, tmp_path, refuses=refuses) as config:
        for words in _lines(name, file, space.name):
            flags = ("--kubeconfig", str(config), "-n", space.name)
            with _changing(space) if name == "watch" else nullcontext():
                seen = shown_on_terminal(*flags, *words, EDITOR="true", FAIRLEAD_TRACEBACKS="")
            assert _obeyed(seen) == "", words


def test_what_completes_a_word_is_printable(space: Space, tmp_path: Path) -> None:
    with hostile_api(space.server, tmp_path, refuses=False) as config:
        for words in ("get ", "get pods ", "config use-context ", "logs ", "-n "):
            before = ("__complete", "--kubeconfig", str(config), *words.split(" "))
            seen = shown_on_terminal(*before)
            assert _obeyed(seen) == "", words


def test_what_completes_a_word_is_no_command_for_a_shell(space: Space) -> None:
    roles = space.collection("roles", "rbac.authorization.@")
    for name in ("$(touch${IFS}made)", "a;b", "`b`", "--server=x", "it's", "a|b", "system:a"):
        roles.create(name, rules=[])
    config = str(Commands(space).config)
    words = ("get", "--kubeconfig", config, "-n", space.name, "roles", "")
    assert run_words("__complete", *words).out.split() == ["system:a"]


def test_a_pipe_gets_what_the_server_sent(space: Space) -> None:
    fairlead = Commands(space)
    space.config_maps.create("b", data={"key": HOSTILE})
    listed = fairlead("get", "cm", "b", "-o", "json")
    assert json.loads(listed)["data"] == {"key": HOSTILE}
    assert _obeyed(listed) == ""  # which is the same JSON
    assert fairlead("get", "cm", "b", "-o", "jsonpath={.data.key}") == HOSTILE
    path = f"/api/v1/namespaces/{space.name}/configmaps/b"
    raw = subprocess.run(
        [sys.executable, "-m", "fairlead", "raw", path, "--kubeconfig", str(fairlead.config)],
        capture_output=True,
        check=True,
    )
    assert raw.stdout == space.client.get(path).content
    assert _obeyed(seen_on_terminal(fairlead, "raw", path)) == ""


def test_tables_are_printable_in_a_pipe_too(space: Space, tmp_path: Path) -> None:
    """Users may read them with less -R."""
    with hostile_api(space.server, tmp_path, refuses=False) as config:
        for words in ("get cm --show-labels", "api-resources", "api-versions", "describe cm"):
            ran = run_words("--kubeconfig", str(config), "-n", space.name, *words.split())
            assert (ran.code, _obeyed(ran.out)) == (0, ""), words


def test_a_refusal_cannot_forge_our_colours(space: Space, tmp_path: Path) -> None:
    with hostile_api(space.server, tmp_path, refuses=True) as config:
        seen = shown_on_terminal("--kubeconfig", str(config), "-n", space.name, "get", "cm")
    assert "^[[2J^[[5mX" in seen
    assert "\\x9b2J" in seen
    assert "\\u202e" in seen
