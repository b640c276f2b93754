"""`fairlead get`, in both dialects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support import http_server
from support.commands import Commands
from support.namespaces import Space
from support.scripted_api import scripted_api

from fairlead.cli import main

# Modules of ours that run for a table; and what only other output, other flags and errors need.
MOST_MODULES_OF_A_TABLE = 54
NOT_FOR_A_TABLE = (
    *("api", "base.errors", "operations", "process", "resources"),
    *("cli.error_messages", "cli.kustomize", "cli.manifests", "cli.similar_objects"),
    *("cli.output.documents", "cli.output.formats", "cli.output.jsonpath", "cli.output.printers"),
    *("cli.output.sort", "cli.suggestions"),
)


@pytest.fixture
def filled(fairlead: Commands) -> Commands:
    for name in ("a", "b"):
        fairlead.space.secrets.create(name, labels={"app": name})
    return fairlead


def test_namespaces_are_shown_as_a_table(fairlead: Commands) -> None:
    head, *rows = fairlead("get", "ns").splitlines()
    assert head.split() == ["NAME", "STATUS", "AGE"]
    assert any(row.split()[:2] == ["default", "Active"] for row in rows)


def test_a_resource_that_is_not_served(fairlead: Commands) -> None:
    ran = fairlead.run("get", "qqqq")
    assert ran.code == 1
    assert ran.errors == 'error: the server does not serve "qqqq"\n'


def test_several_kinds_are_told_apart(filled: Commands) -> None:
    filled.space.config_maps.create("c")
    lines = filled("get", "secrets/a", "cm/c").splitlines()
    assert [line.split()[0] for line in lines if line] == [
        "NAME",
        "secret/a",
        "NAME",
        "configmap/c",
    ]
    assert "" in lines


def test_what_is_there_is_shown_though_something_is_not(filled: Commands) -> None:
    ran = filled.run("get", "secrets", "a", "x", "b", "--no-headers")
    assert ran.code == 1
    assert [line.split()[0] for line in ran.out.splitlines()] == ["a", "b"]
    assert ran.errors == 'Error from server (NotFound): secrets "x" not found\n'


def test_objects_that_are_named_stand_in_one_table(fairlead: Commands) -> None:
    for name in ("b", "longer-name"):
        fairlead.space.config_maps.create(name)
    first, second = fairlead("get", "cm", "b", "longer-name", "--no-headers").splitlines()
    assert first.startswith("b             0     ")
    assert second.startswith("longer-name   0     ")


def test_objects_that_are_named_are_sorted_together(filled: Commands) -> None:
    rows = filled("get", "secrets", "b", "a", "--no-headers", "--sort-by=.metadata.name")
    assert [row.split()[0] for row in rows.splitlines()] == ["a", "b"]


def test_nothing_to_show(fairlead: Commands) -> None:
    ran = fairlead.run("get", "secrets")
    assert (ran.code, ran.out) == (0, "")
    assert ran.errors == f"No resources found in {fairlead.space.name} namespace.\n"


@pytest.mark.both_dialects
def test_names_of_kinds_have_the_groups_of_the_dialect(space: Space) -> None:
    name = Commands(space)("get", "priorityclasses", "system-node-critical", "-o", "name")
    group = space.dialect.group_name("scheduling.@")
    assert name == f"priorityclass.{group}/system-node-critical\n"


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_documents_leave_out_who_owns_fields(filled: Commands, output: str) -> None:
    read = json.loads if output == "json" else yaml.safe_load
    words = ("get", "secret", "a", "-o", output)
    assert "managedFields" not in read(filled(*words))["metadata"]
    assert "managedFields" in read(filled(*words, "--show-managed-fields"))["metadata"]


def test_long_lists_come_in_pages(filled: Commands) -> None:
    rows = filled("get", "secrets", "--chunk-size=1").splitlines()
    assert [row.split()[0] for row in rows] == ["NAME", "a", "b"]
    documents = json.loads(filled("get", "secrets", "--chunk-size=1", "-o", "json"))
    assert [item["metadata"]["name"] for item in documents["items"]] == ["a", "b"]


def test_numbers_in_names_are_sorted_as_numbers(fairlead: Commands) -> None:
    for name in ("web-10", "web-9", "web-1"):
        fairlead.space.secrets.create(name)
    for flags in ((), ("-o", "custom-columns=NAME:.metadata.name")):
        rows = fairlead("get", "secrets", "--sort-by=metadata.name", *flags).splitlines()
        assert [row.split()[0] for row in rows] == ["NAME", "web-1", "web-9", "web-10"]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (".spec.none", "error: --sort-by: no object has the field {.spec.none}"),
        (".metadata", "error: --sort-by: {.metadata} is a map, which has no order"),
        ("{a}{b}", "error: a path consists of names"),
    ],
)
def test_what_nothing_can_be_sorted_by(filled: Commands, field: str, message: str) -> None:
    ran = filled.run("get", "secrets", "--sort-by", field)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(message)


def test_quantities_are_sorted_by_what_they_are_worth(fairlead: Commands) -> None:
    quotas = fairlead.space.collection("resourcequotas")
    for name, amount in (("a", "2"), ("b", "1500m"), ("c", "1k")):
        quotas.create(name, spec={"hard": {"requests.cpu": amount}})
    path = r".spec.hard.requests\.cpu"
    assert fairlead("get", "quota", "--sort-by", path, "-o", "name").split() == [
        "resourcequota/b",
        "resourcequota/a",
        "resourcequota/c",
    ]


def test_columns_and_paths_from_files(filled: Commands, tmp_path: Path) -> None:
    columns = tmp_path / "columns"
    columns.write_text("NAME APP\n.metadata.name {.metadata.labels.app}\n")
    output = filled("get", "secrets", "-o", f"custom-columns-file={columns}")
    assert [line.split() for line in output.splitlines()] == [
        ["NAME", "APP"],
        ["a", "a"],
        ["b", "b"],
    ]
    path = tmp_path / "path"
    path.write_text("{.items[*].metadata.name}")
    assert filled("get", "secrets", "-o", f"jsonpath-file={path}") == "a b"
    assert filled("get", "secrets", "-o", "jsonpath-file", "--template", str(path)) == "a b"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("jsonpath-file=/nope", "error: error reading template /nope, No such file or directory"),
        ("go-template={{.x", "error: the template is wrong: "),
        ("json=x", "error: -o json=x is unknown"),
        ("xml", "error: -o xml is unknown"),
        ("jsonpath={.metadata[0]}", 'error: error executing jsonpath "{.metadata[0]}": Error exec'),
    ],
)
def test_formats_that_do_not_work(filled: Commands, output: str, message: str) -> None:
    ran = filled.run("get", "secret", "a", "-o", output)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(message)


def test_objects_of_files_are_looked_for(filled: Commands, tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: none}\n"
    )
    ran = filled.run("get", "-f", str(file))
    assert ran.code == 1
    assert [line.split()[0] for line in ran.out.splitlines()] == ["NAME", "a"]
    assert ran.errors == 'Error from server (NotFound): configmaps "none" not found\n'
    assert filled("get", "-f", str(file), "--ignore-not-found", "-o", "name") == "secret/a\n"


def test_escape_sequences_do_not_reach_the_reader(fairlead: Commands) -> None:
    fairlead.space.config_maps.create("c", data={"k": "\x1b[31mred\x07\x9b\nmore"})
    output = fairlead("get", "cm", "c", "-o", "custom-columns=K:.data.k")
    assert output == "K\n^[[31mred^G\\x9b\\nmore\n"


def test_cells_of_several_lines_are_cut(fairlead: Commands) -> None:
    space = fairlead.space
    space.collection("events").create(
        "e",
        involvedObject={"kind": "Pod", "namespace": space.name, "name": "p"},
        message="first \x1b[1m\r\nsecond",
        reason="R",
        type="Normal",
    )
    (row,) = fairlead("get", "events", "--no-headers").splitlines()
    assert row.endswith("first ^[[1m...")


def test_a_server_that_is_not_there(
    fairlead_kubernetes: Commands, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = yaml.safe_load(fairlead_kubernetes.config.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    assert main(["get", "ns", "--kubeconfig", str(path)]) == 1
    assert capsys.readouterr() == (
        "",
        "error: nothing listens on 127.0.0.1:1: is the server running, and is the address right?\n",
    )


class OtherServer(http_server.Handler):
    """A web server, as may stand at a wrong address."""

    def do_GET(self) -> None:
        status = 404 if "/nothing" in self.path else 200
        body = b'{"kind": "Status", "code": "x"}' if status == 404 else b"<html>"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "error: no server of this API answers there: is the address right?\n"),
        ("/nothing", "Error from server: it says nothing more\n"),
    ],
)
def test_a_server_of_something_else_is_told(
    path: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = http_server.HttpServer(OtherServer)
    config = tmp_path / "config"
    config.write_text("")
    address = f"http://127.0.0.1:{server.server_port}{path}"
    try:
        assert main(["get", "ns", "--server", address, "--kubeconfig", str(config)]) == 1
    finally:
        server.stop()
    assert capsys.readouterr().err.startswith(message)


@pytest.mark.parametrize("answer", [{"items": [5]}, {"kind": "Table", "rows": 5}])
def test_a_server_that_talks_nonsense_is_told_in_one_line(
    answer: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with scripted_api([answer], []) as api:
        assert main(["get", "secrets", "--kubeconfig", str(api.config(tmp_path))]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("error: the answer of the server was not understood: ")
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("cm", ""), "error: the resource name is empty\n"),
        (("cm", "a", "a%2fb"), 'error: "a%2fb" cannot be a resource name: it has a % in it\n'),
        (("cm/..",), 'error: ".." cannot be a resource name\n'),
        (("cm", "-n", "a/b"), 'error: "a/b" cannot be a namespace: it has a / in it\n'),
    ],
)
def test_names_that_would_lead_elsewhere(
    fairlead_kubernetes: Commands, words: tuple[str, ...], message: str
) -> None:
    ran = fairlead_kubernetes.run("get", *words)
    assert (ran.code, ran.out, ran.errors) == (1, "", message)


def run_alone(program: str, config: Path) -> str:
    """What `fairlead get ns` prints in a process of its own, run by a program."""
    words = ("get", "ns", "--kubeconfig", str(config))
    unmeasured = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        check=True,
        env=unmeasured,
    )
    return done.stdout


def test_a_plain_get_loads_only_what_it_needs(fairlead_kubernetes: Commands) -> None:
    program = (
        "import sys; from fairlead.cli import main; code = main()\n"
        "lazy = sys.modules['fairlead.base.lazy'].LazyModule\n"
        "print(*(name for name, module in sys.modules.items() if type(module) is not lazy))\n"
        "sys.exit(code)"
    )
    loaded = set(run_alone(program, fairlead_kubernetes.config).splitlines()[-1].split())
    assert "fairlead.cli.commands.get" in loaded
    assert not loaded & {"OpenSSL", "rich", "cryptography", "typer", "pydantic", "sqlite3"}
    assert not loaded & {"inspect", "ast", "hashlib", "random", "ipaddress", "textwrap", "tokenize"}
    assert not loaded & {"argparse", "base64", "copy", "encodings.idna", "fnmatch", "locale"}
    assert not loaded & {"ntpath", "yaml"}
    assert not {f"fairlead.{name}" for name in NOT_FOR_A_TABLE} & loaded
    assert sum(name.startswith("fairlead.") for name in loaded) <= MOST_MODULES_OF_A_TABLE


def test_a_plain_get_compiles_no_annotations(fairlead_kubernetes: Commands) -> None:
    """NamedTuple compiles annotations that are text, which takes 3 % of a get for the first of
    them: modules that define one and that a get loads do not import them from __future__."""
    program = (
        "import builtins, sys\n"
        "compile = builtins.compile\n"
        "def watched(source, *rest, **named):\n"
        "    if isinstance(source, str):\n"
        "        print('COMPILED', source)\n"
        "    return compile(source, *rest, **named)\n"
        "builtins.compile = watched\n"
        "from fairlead.cli import main\n"
        "sys.exit(main())"
    )
    assert "COMPILED" not in run_alone(program, fairlead_kubernetes.config)
