"""`fairlead create`."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import http_server
from support.commands import Commands
from support.kubectl import Kubectl, compared
from support.manifests import config_map, text


def test_objects_of_files_and_folders(fairlead: Commands, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(text(config_map("b"), config_map("c")))
    (tmp_path / "a.json").write_text(text(config_map("a")))
    (tmp_path / "notes.txt").write_text("not an object")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "d.yml").write_text(text(config_map("d")))
    output = fairlead("create", "-f", str(tmp_path))
    assert output == "configmap/a created\nconfigmap/b created\nconfigmap/c created\n"
    assert fairlead("create", "-R", "-f", str(inner)) == "configmap/d created\n"
    assert fairlead("create", "-f", "-", text=text(config_map("e"))) == "configmap/e created\n"


def test_objects_of_an_address(fairlead: Commands) -> None:
    class Handler(http_server.Handler):
        def do_GET(self) -> None:
            result = self.path == "/here.yaml"
            body = text(config_map("far")).encode() if result else b""
            self.reply(200 if result else 404, body)

    server = http_server.HttpServer(Handler)
    address = f"http://127.0.0.1:{server.server_port}"
    assert fairlead("create", "-f", f"{address}/here.yaml") == "configmap/far created\n"
    ran = fairlead.run("create", "-f", f"{address}/nowhere.yaml")
    server.stop()
    assert ran.code == 1
    assert ran.errors == (f'error: "{address}/nowhere.yaml" cannot be read: 404 Not Found\n')


def test_a_list_is_its_items(fairlead: Commands) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [config_map("a"), config_map("b")]}
    assert fairlead(
        "create",
        "-f",
        "-",
        text=text(listed),
    ) == ("configmap/a created\nconfigmap/b created\n")


def test_one_that_is_there_does_not_keep_others_back(fairlead: Commands) -> None:
    fairlead("create", "configmap", "a")
    ran = fairlead.run("create", "-f", "-", text=text(config_map("a"), config_map("b")))
    assert (ran.code, ran.out) == (1, "configmap/b created\n")
    assert ran.errors == (
        'Error from server (AlreadyExists): error when creating "STDIN": configmaps "a" already'
        " exists\n"
    )


def test_dry_runs_create_nothing(fairlead: Commands) -> None:
    for where, note in (("client", "(dry run)"), ("server", "(server dry run)")):
        output = fairlead("create", "configmap", "a", f"--dry-run={where}")
        assert output == f"configmap/a created {note}\n"
    assert fairlead.space.config_maps.get("a").status == 404
    ran = fairlead.run("create", "configmap", "a", "--dry-run=maybe")
    assert (ran.code, ran.errors) == (
        1,
        "error: --dry-run=maybe is unknown: it takes none, client or server\n",
    )


def test_unknown_fields_are_refused_warned_of_or_ignored(fairlead: Commands) -> None:
    content = text({**config_map("a"), "colour": "red"})
    ran = fairlead.run("create", "-f", "-", text=content)
    assert ran.code == 1
    assert ran.errors.endswith('strict decoding error: unknown field "colour"\n')
    ran = fairlead.run("create", "-f", "-", "--validate=warn", text=content)
    assert (ran.code, ran.errors) == (0, 'Warning: unknown field "colour"\n')
    fairlead("delete", "cm", "a")
    ran = fairlead.run("create", "-f", "-", "--validate=false", text=content)
    assert (ran.code, ran.errors) == (0, "")


@pytest.mark.both_dialects
def test_the_manager_is_named_and_the_configuration_kept(fairlead: Commands) -> None:
    fairlead("create", "configmap", "a", "--save-config", "--from-literal=x=1")
    created = fairlead.space.config_maps.read("a")
    assert created["metadata"]["managedFields"][0]["manager"] == "fairlead-create"
    label = fairlead.space.dialect.label("kubectl.@/last-applied-configuration")
    kept = json.loads(created["metadata"]["annotations"][label])
    assert kept["data"] == {"x": "1"}
    fairlead("create", "configmap", "b", "--field-manager=me", "--from-literal=x=1")
    created = fairlead.space.config_maps.read("b")
    assert created["metadata"]["managedFields"][0]["manager"] == "me"


def test_what_was_created_can_be_shown(fairlead: Commands) -> None:
    assert fairlead("create", "configmap", "a", "-o", "name") == "configmap/a\n"
    numbers = json.loads(fairlead("create", "configmap", "b", "-o", "json"))
    assert numbers["metadata"]["name"] == "b"
    assert "managedFields" not in numbers["metadata"]
    two = fairlead("create", "-f", "-", "-o", "yaml", text=text(config_map("c"), config_map("d")))
    assert [item["metadata"]["name"] for item in yaml.safe_load_all(two)] == ["c", "d"]
    ran = fairlead.run("create", "configmap", "e", "-o", "wide")
    assert ran.code == 1
    assert "-o wide is not possible here" in ran.errors


BAD_FILES = {
    "a: b": "error validating data: [apiVersion not set, kind not set]; --validate=false",
    '{"apiVersion": "v1"}': "error validating data: kind not set; --validate=false",
    "- a": "error validating data: invalid object to validate; --validate=false",
    "a: [": "error parsing STDIN: error converting YAML to JSON: yaml: ",
    "": "error: no objects passed to create",
    "{apiVersion: a/v1, kind: Foo, metadata: {name: x}}": (
        'STDIN: "x" cannot be sent: the server does not serve the kind "Foo" in "a/v1"\n'
        "if a CustomResourceDefinition defines this kind, create it first"
    ),
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: elsewhere}}": (
        "the file says namespace elsewhere and -n "
    ),
    "{apiVersion: v1, kind: ConfigMap, metadata: [1]}": "metadata is not an object",
    "&a [*a]": "error: error ",
}


@pytest.mark.parametrize("given", BAD_FILES)
def test_files_that_are_no_objects(fairlead_kubernetes: Commands, given: str) -> None:
    ran = fairlead_kubernetes.run("create", "-f", "-", text=given)
    assert (ran.code, ran.out) == (1, "")
    assert BAD_FILES[given] in ran.errors


def test_a_file_may_begin_with_its_byte_order(fairlead: Commands, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("\ufeff" + json.dumps(config_map("a")), "utf-8")
    assert fairlead("create", "-f", str(tmp_path)) == "configmap/a created\n"


def test_files_that_cannot_be_read(fairlead: Commands, tmp_path: Path) -> None:
    ran = fairlead.run("create", "-f", str(tmp_path / "nope.yaml"))
    assert ran.errors == f'error: file "{tmp_path / "nope.yaml"}" does not exist\n'
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    ran = fairlead.run("create", "-f", str(tmp_path / "bytes.yaml"))
    assert ran.code == 1
    assert ran.errors.startswith("error: error reading ")
    ran = fairlead.run("create")
    assert (ran.code, ran.errors) == (
        1,
        "error: a file is missing: -f FILE, or -k FOLDER for a kustomization\n",
    )


FORMS = """
namespace x
configmap x --from-literal=a=1 --from-literal=b=c=d
configmap x --from-file=key=FOLDER/text --from-file=FOLDER/binary
configmap x --from-file=FOLDER/inner
configmap x --from-env-file=FOLDER/env
configmap x --from-literal=a=<&> --from-file=FOLDER/binary --append-hash
secret generic x --from-file=FOLDER/binary --append-hash
secret generic x --from-literal=a=b --type=example.com/own
secret docker-registry x --docker-username=u --docker-password=p --docker-email=e
deployment x --image=nginx --replicas=2 --port=80
deployment x --image=a/b:1 --image=c@sha256:1
service clusterip x --tcp=80:8080 --tcp=5
service clusterip x --clusterip=None
service nodeport x --tcp=80 --node-port=30000
service nodeport x --tcp=80:web
service loadbalancer x --tcp=80:http
service externalname x --external-name=a.b.c
serviceaccount x
role x --verb=get,list --resource=pods,deployments.apps,pods/status --resource-name=a
clusterrole x --verb=get --resource=nodes --non-resource-url=/a
clusterrole x --aggregation-rule=a=b
rolebinding x --clusterrole=admin --user=a --group=b --serviceaccount=ns:sa
clusterrolebinding x --clusterrole=admin --user=a
quota x --hard=pods=2 --scopes=BestEffort
priorityclass x --value=1000 --description=aa --global-default
priorityclass x
ingress x --rule=a.com/b*=svc:80,tls=sec --class=c --annotation=k=v --default-backend=d:90
ingress x --rule=/p=svc:port,tls --rule=foo.com/*=svc:8080,tls=my --rule=foo.com/bar=s2:http
poddisruptionbudget x --selector=app=a --min-available=50%
cronjob x --image=b --schedule=@daily --restart=Never
""".strip().splitlines()


def _without_nothing(value: Any) -> Any:
    """Remove empty values, which kubectl writes and servers omit."""
    if isinstance(value, dict):
        result = {key: _without_nothing(item) for key, item in value.items()}
        return {key: item for key, item in result.items() if item not in (None, {}, [], 0)}
    return [_without_nothing(item) for item in value] if isinstance(value, list) else value


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "text").write_text("hello\nworld\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "env").write_text("A=1\n# no\n\nB=two words\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "k1").write_text("x")
    (inner / "deeper").mkdir()
    return tmp_path


@compared
def test_forms_make_the_objects_that_kubectl_makes(
    fairlead_kubernetes: Commands, sources: Path
) -> None:
    space = fairlead_kubernetes.space
    kubectl = Kubectl(space.server, space.name, sources)
    flags = ("--dry-run=client", "-o", "yaml")
    lines = [form.replace("FOLDER", str(sources)).split() for form in FORMS]
    with ThreadPoolExecutor(4) as pool:
        created = [*pool.map(lambda words: kubectl("create", *words, *flags), lines)]
    for words, theirs in zip(lines, created, strict=True):
        ours = yaml.safe_load(fairlead_kubernetes("create", *words, *flags))
        assert _without_nothing(ours) == _without_nothing(yaml.safe_load(theirs)), words


@pytest.mark.both_dialects
def test_forms_are_accepted_in_both_dialects(fairlead: Commands, sources: Path) -> None:
    for form in FORMS:
        words = [word.replace("FOLDER", str(sources)) for word in form.split()]
        output = fairlead("create", *words, "--dry-run=server", "-o", "name")
        assert output.rpartition("/")[2].startswith("x"), form


def test_commands_of_jobs_follow_two_dashes(fairlead: Commands) -> None:
    document = yaml.safe_load(
        fairlead("create", "job", "x", "--image=b", "--dry-run=client", "-oyaml", "--", "ls", "-l")
    )
    assert document["spec"]["template"]["spec"]["containers"] == [
        {"name": "x", "image": "b", "command": ["ls", "-l"]}
    ]


def test_a_job_is_made_of_a_cron_job(fairlead: Commands) -> None:
    fairlead("create", "cronjob", "nightly", "--image=b", "--schedule=@yearly", "--", "ls")
    fairlead("create", "job", "now", "--from=cronjob/nightly")
    job = fairlead.space.collection("jobs", "batch").read("now")
    assert job["spec"]["template"]["spec"]["containers"][0]["command"] == ["ls"]
    assert job["metadata"]["ownerReferences"][0]["name"] == "nightly"
    ran = fairlead.run("create", "job", "now", "--from=configmap/x")
    assert (ran.code, ran.errors) == (1, "error: --from takes a cron job: cronjob/NAME\n")


def test_a_token_is_printed(fairlead: Commands) -> None:
    fairlead("create", "sa", "robot")
    token = fairlead("create", "token", "robot", "--duration=10m").strip()
    assert token.count(".") == 2
    ran = fairlead.run("create", "token", "nobody")
    assert (ran.code, ran.errors) == (
        1,
        'error: failed to create token: serviceaccounts "nobody" not found\n',
    )


@pytest.mark.both_dialects
def test_a_secret_with_a_certificate(fairlead: Commands, tmp_path: Path) -> None:
    pki = fairlead.space.server.data / "pki"
    pair = next(
        (crt, crt.with_suffix(".key"))
        for crt in sorted(pki.rglob("*.crt"))
        if crt.with_suffix(".key").exists()
    )
    fairlead("create", "secret", "tls", "web", f"--cert={pair[0]}", f"--key={pair[1]}")
    secret = fairlead.space.secrets.read("web")
    assert secret["type"] == fairlead.space.dialect.label("@/tls")
    wrong = tmp_path / "wrong.key"
    wrong.write_text("no key")
    ran = fairlead.run("create", "secret", "tls", "x", f"--cert={pair[0]}", f"--key={wrong}")
    assert ran.code == 1
    assert ran.errors.startswith("error: tls: ")


MISTAKES = {
    "configmap": "give one NAME, not 0",
    "configmap x y": "give one NAME, not 2",
    "configmap x --from-literal=a": "--from-literal takes KEY=VALUE, not a",
    "configmap x --from-literal=a=1 --from-literal=a=2": (
        'the key "a" of ConfigMap "x" is given twice'
    ),
    "configmap x --from-file=/nope": "error reading /nope: no such file or directory",
    "configmap x --from-literal=a!=1": '"a!" cannot be a key of a ConfigMap: ',
    "configmap x --image=a": "unknown flag: --image",
    "secret": "secret needs one of: generic, tls, docker-registry",
    "secret docker-registry x": "credentials are missing: --docker-server",
    "deployment x": "--image is missing",
    "deployment x --image=a --replicas=many": 'strconv.ParseInt: parsing "many": invalid syntax',
    "job x": "give --image or --from=cronjob/NAME",
    "service clusterip x": "a port is missing: --tcp=80 or --tcp=80:8080",
    "service clusterip x --tcp=foo": 'strconv.ParseUint: parsing "foo": invalid syntax',
    "service clusterip x --tcp=80:99999": "a port is a number from 1 to 65535",
    "role x": "verbs are missing: --verb=get,list",
    "role x --verb=get --resource=nope": 'the server does not serve "nope"',
    "rolebinding x": "give one role: --clusterrole or --role",
    "rolebinding x --role=a --serviceaccount=foo": "serviceaccount must be <namespace>:<name>",
    "quota x --hard=a": "Invalid argument syntax a, expected <resource>=<value>",
    "ingress x --rule=foo": "--rule takes HOST/PATH=SERVICE:PORT",
    "poddisruptionbudget x --min-available=1": "a selector must be specified",
    "foo": 'unknown command "foo"',
}


@pytest.mark.parametrize("words", ["service nodeport x --tcp=80", "priorityclass x"])
def test_numbers_need_not_be_given(fairlead_kubernetes: Commands, words: str) -> None:
    assert fairlead_kubernetes("create", *words.split(), "--dry-run=server", "-o", "name")


@pytest.mark.parametrize("words", MISTAKES)
def test_mistakes_are_told(fairlead_kubernetes: Commands, words: str) -> None:
    ran = fairlead_kubernetes.run("create", *words.split())
    assert (ran.code, ran.out) == (1, "")
    assert f"error: {MISTAKES[words]}" in ran.errors or MISTAKES[words] in ran.errors


def test_hostile_files_are_refused_without_a_traceback(fairlead_kubernetes: Commands) -> None:
    deep = '{"apiVersion": "v1", "kind": "ConfigMap", "data": ' + '{"a":' * 400 + "1" + "}" * 401
    wrong = (
        deep,
        '{"a":' * 100_000,
        '{"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "\\ud800"}}',
        '{"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": 99999999999999999999999}}',
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: 5}}",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: [a]}}",
        "{apiVersion: v1, kind: [ConfigMap]}",
        "{apiVersion: v1, kind: List, items: [1]}",
    )
    for item in wrong:
        for command in ("create", "apply", "delete", "replace"):
            ran = fairlead_kubernetes.run(command, "-f", "-", text=item)
            assert (ran.code, ran.out) == (1, ""), item[:80]
            assert ran.errors.startswith("error: "), item[:80]


def test_a_server_that_is_not_there_is_told_once(fairlead: Commands, tmp_path: Path) -> None:
    config = yaml.safe_load(fairlead.config.read_text())
    for cluster in config["clusters"]:
        cluster["cluster"]["server"] = "https://127.0.0.1:1"
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    content = text(config_map("a"), config_map("b"))
    for command in ("create", "apply", "delete", "replace", "diff"):
        words = ("--kubeconfig", str(tmp_path / "config"), "-f", "-")
        ran = fairlead.run(command, *words, text=content)
        assert ran.code == (2 if command == "diff" else 1)
        assert ran.errors == (
            "error: nothing listens on 127.0.0.1:1:"
            " is the server running, and is the address right?\n"
        )


def test_a_file_is_sent_as_it_is_with_raw(fairlead: Commands, tmp_path: Path) -> None:
    path = f"/api/v1/namespaces/{fairlead.space.name}/configmaps"
    file = tmp_path / "map.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sent}\ndata: {a: b}\n")
    assert '"name":"sent"' in fairlead("create", "--raw", path, "-f", str(file))
    file.write_text(file.read_text().replace("a: b", "a: c"))
    assert '"a":"c"' in fairlead("replace", "--raw", f"{path}/sent", "-f", str(file))
    assert "one local file" in fairlead.run("create", "--raw", path).errors


def test_objects_of_files_are_selected_and_edited_before(
    fairlead: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBE_EDITOR", "sed -i s/first/edited/")
    file = tmp_path / "maps.yaml"
    names = {"first": "yes", "second": "no"}
    file.write_text(
        "---\n".join(
            "apiVersion: v1\nkind: ConfigMap\n"
            f"metadata: {{name: {name}, labels: {{a: '{value}'}}}}\n"
            for name, value in names.items()
        )
    )
    out = fairlead("create", "-f", str(file), "-l", "a=yes", "--edit")
    assert out == "configmap/edited created\n"
