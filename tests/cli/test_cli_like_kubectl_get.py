"""`fairlead get` and kubectl print the same for the same server."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from support.commands import Commands, Ran
from support.every_kind import many
from support.kubectl import Kubectl, compared, said_by_server
from support.namespaces import Space
from support.process import ServerProcess

pytestmark = compared

_AGE = re.compile(r"(?:\b(?:AGE|\d+[smhdy](?:\d+[smhd])?)\b) *")

# One each of twenty kinds and more, by the words that people use.
KINDS = (
    "cm/settings",
    "secret/keys",
    "svc/web",
    "pod/lonely",
    "sa/robot",
    "pvc/disk",
    "limits/limits",
    "quota/quota",
    "endpoints/outside",
    "rc/old",
    "deployment/web",
    "sts/db",
    "ds/agent",
    "job/once",
    "cj/nightly",
    "hpa/web",
    "pdb/web",
    "ingress/web",
    "netpol/closed",
    "role/reader",
    "rolebinding/reader",
    "lease/leader",
)


@dataclass
class Both:
    """Runs a command with fairlead and with kubectl."""

    fairlead: Commands
    kubectl: Kubectl

    def ran(self, *words: str) -> tuple[Ran, Ran]:
        done = subprocess.run(
            [*self.kubectl.command, *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return self.fairlead.run(*words), Ran(done.returncode, done.stdout, done.stderr)

    def agree(self, *words: str) -> None:
        """Compare the outputs to the byte, except ages and the texts of errors."""
        ours, theirs = self.ran(*words)
        assert _AGE.sub("AGE ", ours.out) == _AGE.sub("AGE ", theirs.out)
        assert (ours.code, bool(ours.errors)) == (theirs.code, bool(theirs.errors))
        assert said_by_server(ours.errors) == said_by_server(theirs.errors)


@pytest.fixture(scope="module")
def both(server: ServerProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Both, in a namespace with objects of all these kinds."""
    client = server.client()
    space = Space(server, client)
    kubectl = Kubectl(server, space.name, tmp_path_factory.mktemp("kubectl"))
    kubectl("create", "--validate=false", "-f", "-", text=many(space.dialect.group_domain))
    yield Both(Commands(space), kubectl)
    client.close()


OF_ALL = ",".join(word.partition("/")[0] for word in KINDS)


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("-o", "wide", "--show-labels"),
        ("-L", "app,example.com/part", "--no-headers"),
        ("--server-print=false",),
        ("-o", "json"),
        ("-o", "yaml"),
        ("-o", "name"),
        ("-o", "custom-columns=N:.metadata.name,L:.metadata.labels,C:.spec.replicas,X:.none"),
        ("-o", "jsonpath={range .items[*]}{.kind} {.metadata}{'\\n'}{end}"),
        ("-o", "jsonpath-as-json={.items[*].metadata.name}"),
    ],
    ids=" ".join,
)
def test_objects_of_twenty_kinds(both: Both, flags: tuple[str, ...]) -> None:
    both.agree("get", *KINDS, *flags)


@pytest.mark.parametrize("flags", [(), ("-o", "yaml")], ids=" ".join)
def test_lists_of_twenty_kinds(both: Both, flags: tuple[str, ...]) -> None:
    both.agree("get", OF_ALL, *flags)


@pytest.mark.parametrize(
    "words",
    [
        "cm settings",
        "cm settings -o json",
        "cm settings kube-root-ca.crt",
        "clusterroles view system:kube-controller-manager edit --server-print=false",
        "cm --field-selector metadata.name=settings",
        "cm,svc -l app=web -o name",
        "cm,secrets settings keys",
        "all",
        "cm -o name --sort-by={.metadata.creationTimestamp}",
        "deploy web --subresource=scale",
        "nodes",
        "clusterroles view -o yaml",
        "cm --chunk-size=1 -o name",
        "deployments.v1.apps/web",
        "--raw /version",
    ],
)
def test_ways_to_ask(both: Both, words: str) -> None:
    both.agree("get", *words.split())


@pytest.mark.parametrize(
    "words",
    [
        "",
        "nothings",
        "cm,nothings",
        "cm nope settings",
        "cm nope -o yaml",
        "cm nope settings -o name",
        "cm nope --ignore-not-found",
        "deploy,cm nope",
        "cm -n none",
        "cm -A -l no=such",
        "cm -n none -o yaml",
        "cm -n none -o custom-columns=A:.x",
        "cm -l a=b=c",
        "cm --field-selector spec.x=y",
        "a/b/c",
        "cm/",
        "cm cm/settings",
        "all web",
        "cm ..",
        "cm/a%2fb",
        "cm settings -l app=web",
        "cm/settings -l app=web",
        "cm settings -A",
        "cm --show-labels -o yaml",
        "cm --subresource=status",
        "cm,svc -w",
        "cm -o jsonpath",
        "cm -o jsonpath={.x[}",
        "cm -o custom-columns=A",
        "--raw /nope",
        "cm --raw /version",
    ],
)
def test_what_cannot_be_shown(both: Both, words: str) -> None:
    both.agree("get", *words.split())


def test_texts_that_are_hard_to_write_in_yaml(both: Both) -> None:
    both.fairlead.space.config_maps.create("odd", data=dict(enumerate_texts()))
    both.agree("get", "cm", "odd", "-o", "yaml")
    both.agree("get", "cm", "odd", "-o", "json")


def enumerate_texts() -> Iterator[tuple[str, str]]:
    for at, text in enumerate(ODD_TEXTS):
        yield f"k{at}", text
    for key in ODD_KEYS:
        yield key, "v"


ODD_KEYS = (
    "1", "1.5", "true", "a", "a-b", "a_b", "a.b", "a0", "a01", "a001", "a1", "a2", "a10", "aB",
    "ab", "A", "x9y", "x10y", "Yes", "n", "null",
)  # fmt: skip
ODD_TEXTS = (
    "", " ", "~", "null", "true", "yes", "Y", "n", "on", "NO", "off", "123", "-0", "+1", "017",
    "089", "0o17", "0x1f", "0xg", "0b11", "1.5", ".5", "-.5", ".", "+", "-", "1e3", "1e", "1_000",
    "_1", ".inf", "+.inf", ".NaN", "1:30", "1:30.5", "190:20:30", "2020-01-01", "2020-1-1",
    "2020-01-01T00:00:00Z", "2020-01-01 10:00:00", "1.2.3", "10.0.0.0/8", "100m", "=", "a: b",
    "a:", "a #b", "#c", "- a", "-x", "?", "? x", "*a", "&a", "!a", "|a", ">a", "%a", "@a", "`a",
    "'a", '"a', "{a}", "[a]", ",a", " a", "a ", "a\tb", "\ta", "a\nb", "a\nb\n", "a\n\n", "\n",
    "a \nb", "\na", " a\nb", "a\tb\nc", "a\r\nb", "a\u0001b", "a\u001b[31m", "x\U0001f600", "ü",
    "a\u00a0b", "---", "--- a", "...", "x\n  y\n z\n", "a\\b", "a & b", "a<b>c", "x" * 200,
    "word " * 40 + "end", "# " + "word " * 40 + "end", "true\u0001 " + "word " * 40 + "end",
    "word " * 40 + "\nsecond\n", "12345678901234567890123",
)  # fmt: skip
