"""`fairlead describe` and kubectl print the same for the same server."""

from __future__ import annotations

import json
import re
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from support.commands import Commands, Ran
from support.kubectl import KUBECTL, Kubectl, compared, said_by_server, without_sentences
from support.namespaces import Space
from support.process import ServerProcess

pytestmark = compared

_OBJECTS = Path(__file__).parent / "described"
_FILES = ("cluster", "configuration", "networking", "workloads", "pods")
_AGE = re.compile(r"\b\d+[smhdy](?:\d+[smhd])?\b *")
_TIMES = re.compile(r"(RenewTime: *)[^\n]*")
_TRIES = 6  # controllers change things between one command and the other

# Each is one command; together they show all kinds that have a layout of their own, and some more.
SAME_IN_ALL = (
    "pod/full pod/bare pod/promised pod/user",
    "nodes,namespaces",
    "pv",
    "pvc/data pvc/waiting",
    "secrets,serviceaccounts,resourcequotas,limitranges",
    "endpoints,endpointslices,ingressclasses,networkpolicies",
    "ingress/default-only hpa.v1.autoscaling/plain",
    "poddisruptionbudgets,horizontalpodautoscalers",
    "roles,rolebindings,clusterroles,clusterrolebindings",
    "storageclasses,csinodes,volumeattachments,priorityclasses,certificatesigningrequests",
    "things,customresourcedefinitions",
    "events",
)
# Lines were added to these in later releases.
CHANGED_AFTER_1_27 = (
    "configmap/settings configmap/empty",
    "services",
    "ingress/paths",
)
# Node selectors and tolerations of pod templates were added to these in 1.30.
SAME_SINCE_1_30 = (
    "deployments,replicasets,replicationcontrollers,statefulsets,daemonsets",
    "jobs,cronjobs",
)
WORDS = (
    "",
    "pod nosuch",
    "pods nosuch nosuch2",
    "pod/nosuch sa/nosuch",
    "sa rob",
    "sa robot -A",
    "sa robot -l a=b",
    "sa -l a==,",
    "sa,secrets rob",
    "sa --show-events=false",
    "sa --chunk-size=1",
    "networkpolicies -A",
    "pv nosuch -f x",
)


def _nearest() -> tuple[str, int]:
    """The kubectl that is nearest to v1.25, and the number behind its `1.`: some installations
    have several."""
    assert KUBECTL is not None
    others = sorted(Path(KUBECTL).resolve().parent.glob("kubectl.1.[23][0-9]"))
    program = next((str(other) for other in others if other.suffix >= ".25"), KUBECTL)
    return program, _minor(program)


def _present() -> tuple[str, int]:
    assert KUBECTL is not None
    return KUBECTL, _minor(KUBECTL)


def _minor(program: str) -> int:
    result = subprocess.run(
        [program, "version", "--client", "-o", "json"], capture_output=True, text=True, check=True
    )
    return int(re.sub(r"\D", "", json.loads(result.stdout)["clientVersion"]["minor"]))


class Both:
    """Runs a command with fairlead and with kubectl."""

    def __init__(self, space: Space, home: Path) -> None:
        self.fairlead = Commands(space)
        self.kubectl = Kubectl(space.server, space.name, home)
        self.program, self.minor = _nearest()
        self.kubectl.command[0] = self.program

    def ran(self, *words: str, program: str = "") -> tuple[Ran, Ran]:
        kubectl, *flags = self.kubectl.command
        done = subprocess.run(
            [program or kubectl, *flags, "describe", *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        theirs = Ran(done.returncode, done.stdout, done.stderr)
        return self.fairlead.run("describe", *words), theirs

    def agree(self, *words: str, program: str = "") -> Ran:
        """Ages move and sentences differ; everything else is the same to the byte. Gives ours."""
        for _ in range(_TRIES):
            ours, theirs = self.ran(*words, program=program)
            if _still(ours) == _still(theirs):
                break
        assert _still(ours) == _still(theirs)
        return ours


def _still(ran: Ran) -> tuple[int, str, list[str]]:
    facts = without_sentences(ran.out)
    return ran.code, _TIMES.sub(r"\1", _AGE.sub("AGE ", facts)), said_by_server(ran.errors)


def _request() -> str:
    names = [
        (NameOID.COUNTRY_NAME, "DE"),
        (NameOID.ORGANIZATION_NAME, "one"),
        (NameOID.ORGANIZATION_NAME, "two"),
        (NameOID.COMMON_NAME, "ann"),
    ]
    other = [x509.DNSName("a.example"), x509.DNSName("b.example"), x509.RFC822Name("a@b.example")]
    certificate = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(*name) for name in names]))
        .add_extension(x509.SubjectAlternativeName(other), critical=False)
        .sign(ec.generate_private_key(ec.SECP256R1()), SHA256())
    )
    return b64encode(certificate.public_bytes(Encoding.PEM)).decode()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Both, on a server with a simulated node and objects of all these kinds."""
    directory = tmp_path_factory.mktemp("described")
    server = ServerProcess(directory, "kubernetes", ("--simulate-nodes", "1")).start()
    space = Space(server, server.client())
    both = Both(space, directory)
    create = ("create", "--validate=false")
    both.kubectl(*create, *(f"-f{_OBJECTS / name}.yaml" for name in _FILES))
    both.kubectl(*create, f"-f{_OBJECTS}/things.yaml")  # of a kind that was not there before
    space.everywhere("certificatesigningrequests", "certificates.@").create(
        "ann",
        spec={
            "request": _request(),
            "signerName": "example.org/signer",
            "expirationSeconds": 86400,
            "usages": ["client auth"],
        },
    )
    yield both
    server.stop()


@pytest.mark.parametrize("words", SAME_IN_ALL)
def test_kinds_are_described_as_kubectl_does(both: Both, words: str) -> None:
    assert "Name:" in both.agree(*words.split()).out


@pytest.mark.parametrize("words", CHANGED_AFTER_1_27)
def test_kinds_are_described_as_kubectl_of_that_time_does(both: Both, words: str) -> None:
    if both.minor > 27:
        pytest.skip(f"not compared: kubectl 1.{both.minor} shows more of {words} than 1.25 did")
    assert "Name:" in both.agree(*words.split()).out


@pytest.mark.parametrize("words", SAME_SINCE_1_30)
def test_kinds_are_described_as_the_present_kubectl_does(both: Both, words: str) -> None:
    program, minor = _present()
    if minor < 30:
        pytest.skip(f"not compared: kubectl 1.{minor} shows less of {words}")
    assert "Name:" in both.agree(*words.split(), program=program).out


@pytest.mark.parametrize("words", WORDS)
def test_words_are_understood_as_kubectl_does(both: Both, words: str) -> None:
    both.agree(*words.split())


def test_what_a_user_may_not_see_is_told_as_kubectl_does(both: Both) -> None:
    grants = ("--clusterrole=reader", "--user=eve")
    what = "nodes,serviceaccounts,ingresses,endpointslices"
    both.kubectl("create", "clusterrole", "reader", "--verb=get", f"--resource={what}")
    both.kubectl("create", "clusterrolebinding", "reader", *grants)
    words = (
        "node/described",
        "serviceaccount/robot",
        "ingress/default-only",
        "endpointslice/slice",
    )
    both.agree(*words, "--as", "eve")
    both.agree("pods", "--as", "eve")
