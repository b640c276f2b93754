"""`fairlead debug`, on simulated nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from support.commands import Commands
from support.simulation import Pods, container

from fairlead.cli.debugging.profiles import PROFILES

_PROBE = {"exec": {"command": ["true"]}}


@pytest.fixture
def commands(any_pods: Pods) -> Commands:
    """In the namespace of a pod named p, which runs."""
    any_pods.create(
        "p",
        container("main", livenessProbe=_PROBE, readinessProbe=_PROBE),
        labels={"app": "web"},
        annotations={"note": "x"},
    )
    any_pods.await_ready("p")
    return Commands(any_pods.space)


def _context(container: dict[str, Any]) -> Any:
    return container.get("securityContext")


@pytest.mark.both_dialects
def test_a_container_is_added_to_a_pod(any_pods: Pods, commands: Commands) -> None:
    flags = ("--image=busybox", "-c", "look", "--target=main", "--env=A=b")
    assert commands("debug", "p", *flags, "--", "sleep", "1000") == "pod/p has the container look\n"
    (added,) = any_pods.read("p")["spec"]["ephemeralContainers"]
    assert (added["name"], added["image"], added["command"]) == (
        "look",
        "busybox",
        ["sleep", "1000"],
    )
    assert added["targetContainerName"] == "main"
    assert added["env"] == [{"name": "A", "value": "b"}]
    name = commands("debug", "pod/p", "--image=busybox").split()[-1]
    assert name.startswith("debugger-")
    named = [added["name"] for added in any_pods.read("p")["spec"]["ephemeralContainers"]]
    assert named == ["look", name]


@pytest.mark.both_dialects
def test_the_new_container_is_attached_to(commands: Commands) -> None:
    words = ("debug", "p", "--image=busybox", "-i", "-q", "--", "sh")
    ran = commands.run(*words, text="echo inside\n")
    assert (ran.out, ran.errors) == ("inside\n", "")


_NETWORK = {"capabilities": {"add": ["NET_ADMIN", "NET_RAW"]}}
_PRIVILEGED = {"privileged": True}
_RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
# The security context of the container of each profile, on a pod and on a node.
_CONTEXTS: dict[str, tuple[Any, Any]] = {
    "general": ({"capabilities": {"add": ["SYS_PTRACE"]}}, None),
    "baseline": (None, None),
    "netadmin": (_NETWORK, _NETWORK),
    "sysadmin": (_PRIVILEGED, _PRIVILEGED),
    "restricted": (_RESTRICTED, _RESTRICTED),
}
_WITH_HOST = {"general", "sysadmin", "netadmin"}
_WITH_ROOT = {"general", "sysadmin"}


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_on_pods_and_nodes(profile: str, any_pods: Pods, commands: Commands) -> None:
    on_pod, on_node = _CONTEXTS[profile]
    flags = ("--image=busybox", f"--profile={profile}", "-q")
    commands("debug", "p", *flags)
    assert _context(any_pods.read("p")["spec"]["ephemeralContainers"][-1]) == on_pod
    commands("debug", "p", *flags, "--copy-to=copy")
    copied = any_pods.read("copy")["spec"]
    assert _context(copied["containers"][-1]) == on_pod
    assert copied["shareProcessNamespace"] is True
    commands("debug", "node/simulated-0", *flags)
    named = [item["metadata"]["name"] for item in any_pods.collection.list().body["items"]]
    (name,) = [name for name in named if name.startswith("node-debugger-simulated-0-")]
    spec = any_pods.read(name)["spec"]
    assert _context(spec["containers"][0]) == on_node
    assert spec["nodeName"] == "simulated-0"
    assert {"operator": "Exists"} in spec["tolerations"]
    hosts = [spec.get(field, False) for field in ("hostNetwork", "hostPID", "hostIPC")]
    assert hosts == [profile in _WITH_HOST] * 3
    mounts = [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]]
    assert ("/host" in mounts) is (profile in _WITH_ROOT)


def test_a_copy_is_left_alone_by_services_and_probes(any_pods: Pods, commands: Commands) -> None:
    flags = ("--copy-to=copy", "--image=busybox", "--share-processes=false", "-c", "look")
    assert commands("debug", "p", *flags) == "pod/copy created\n"
    copy = any_pods.read("copy")
    assert "app" not in copy["metadata"].get("labels", {})
    assert "note" not in copy["metadata"].get("annotations", {})
    main, look = copy["spec"]["containers"]
    assert "livenessProbe" not in main
    assert look["name"] == "look"
    assert copy["spec"].get("shareProcessNamespace", False) is False
    kept = ("--keep-labels", "--keep-annotations", "--keep-liveness", "--same-node")
    commands("debug", "p", "--copy-to=kept", "--image=busybox", *kept)
    other = any_pods.read("kept")
    assert other["metadata"]["labels"]["app"] == "web"
    assert other["metadata"]["annotations"]["note"] == "x"
    assert "livenessProbe" in other["spec"]["containers"][0]
    assert "readinessProbe" not in other["spec"]["containers"][0]
    assert other["spec"]["nodeName"] == any_pods.node_of("p")


def test_a_copy_with_other_images_or_another_command(any_pods: Pods, commands: Commands) -> None:
    commands("debug", "p", "--copy-to=images", "--set-image=*=busybox")
    (main,) = any_pods.read("images")["spec"]["containers"]
    assert (main["image"], "livenessProbe" in main) == ("busybox", True)
    commands("debug", "p", "--copy-to=other", "-c", "main", "--replace", "--", "sleep", "5")
    (main,) = any_pods.read("other")["spec"]["containers"]
    assert (main["image"], main["command"]) == ("nginx:1", ["sleep", "5"])
    any_pods.await_gone("p")


def test_fields_of_our_own(any_pods: Pods, commands: Commands, tmp_path: Path) -> None:
    custom = tmp_path / "custom.yaml"
    custom.write_text(yaml.safe_dump({"securityContext": {"runAsUser": 0}, "env": [{"name": "X"}]}))
    for words in (("p",), ("p", "--copy-to=copy"), ("node/simulated-0",)):
        commands("debug", *words, "--image=i", "-c", "look", f"--custom={custom}")
    added = any_pods.read("p")["spec"]["ephemeralContainers"][0]
    copied = any_pods.read("copy")["spec"]["containers"][-1]
    for made in (added, copied):
        capabilities = {"add": ["SYS_PTRACE"]}
        assert made["securityContext"] == {"capabilities": capabilities, "runAsUser": 0}
        assert made["env"] == [{"name": "X"}]
    custom.write_text("image: other\n")
    ran = commands.run("debug", "p", "--image=i", f"--custom={custom}")
    assert ran == (1, "", f"error: {custom}: --custom cannot change image\n")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("", "error: name what is debugged"),
        ("p", "error: the image is missing"),
        ("p --image=i --profile=x", "error: --profile=x is unknown: it takes general, "),
        ("p --image=i --same-node", "error: --replace, --same-node and --set-image need"),
        ("p --image=i --copy-to=c --target=main", "error: --target and --copy-to contradict"),
        ("p --copy-to=c", "error: nothing is changed in the copy"),
        ("p --copy-to=c --set-image=x=y", "error: --set-image: the pod has no container x"),
        ("p --copy-to=c -c x -- ls", "error: the pod has no container x, and there is no --image"),
        ("p --copy-to=c -- ls", "error: a command needs its container"),
        ("p --image=i -t", "error: -t needs -i"),
        ("p --image=i --custom=/no/such", "error: /no/such: No such file"),
        ("p --image=i -c main", 'The Pod "p" is invalid'),
        ("none --image=i", 'Error from server (NotFound): pods "none" not found'),
        ("node/none --image=i", 'Error from server (NotFound): nodes "none" not found'),
        ("sa/default --image=i", "error: a ServiceAccount cannot be debugged"),
        ("p --image=i --as=eve", "Error from server (Forbidden)"),
    ],
)
def test_what_cannot_be_debugged(commands: Commands, words: str, error: str) -> None:
    ran = commands.run("debug", *words.split())
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(error)
