"""`fairlead kustomize` and `-k`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.commands import Commands, run_words
from support.kubectl import KUBECTL, compared

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: a
        image: one:1
        envFrom: [{configMapRef: {name: settings}}]
      - name: b
        image: two:1
"""
PLUGIN = "{{apiVersion: {}, kind: None, metadata: {{name: x}}}}"
TRANSFORMERS = "---\n".join(
    f"apiVersion: builtin\nkind: {kind}\nmetadata: {{name: x, namespace: space}}\n{fields}\n"
    for kind, fields in {
        "PrefixTransformer": "prefix: my-\nfieldSpecs: [{path: metadata/name}]",
        "LabelTransformer": "labels: {team: blue}\n"
        "fieldSpecs: [{path: metadata/labels, create: true}]",
        "NamespaceTransformer": "fieldSpecs: []",
        "ImageTagTransformer": "imageTag: {name: one, newTag: '9'}",
        "ReplicaCountTransformer": "replica: {name: web, count: 3}\n"
        "fieldSpecs: [{path: spec/replicas, create: true, kind: Deployment}]",
        "PatchTransformer": "target: {kind: Deployment}\n"
        """patch: '[{"op": "add", "path": "/spec/paused", "value": true}]'""",
    }.items()
)
Objects = dict[str, dict[str, Any]]


def tree(folder: Path, **files: str) -> str:
    """Write files, of which `base__x` is x in the folder base; without an ending they are
    kustomizations."""
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path = path.with_suffix(".yaml") if path.suffix == "" else path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


def built(folder: str) -> Objects:
    """The objects of a kustomization by their kind and name."""
    ran = run_words("kustomize", folder)
    assert ran.code == 0, ran.errors
    values = list(yaml.safe_load_all(ran.out))
    return {f"{value['kind']}/{value['metadata']['name']}": value for value in values}


def refused(folder: str) -> str:
    ran = run_words("kustomize", folder)
    assert (ran.code, ran.out) == (1, "")
    return ran.errors


def containers(value: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = value["spec"]["template"]["spec"]["containers"]
    return found


def test_generated_names_have_the_published_hash_and_references_follow(tmp_path: Path) -> None:
    folder = tree(
        tmp_path,
        web=DEPLOYMENT,
        kustomization="""\
resources: [web.yaml]
namePrefix: dev-
configMapGenerator:
- name: settings
  literals: [a=1, 'b="two"']
secretGenerator:
- name: keys
  literals: [key=x]
""",
    )
    objects = built(folder)
    assert list(objects) == [
        "ConfigMap/dev-settings-5m9tg7g54f",
        "Secret/dev-keys-8khhmtk5kd",
        "Deployment/dev-web",
    ]
    source = containers(objects["Deployment/dev-web"])[0]["envFrom"][0]["configMapRef"]["name"]
    assert source == "dev-settings-5m9tg7g54f"
    assert objects["ConfigMap/dev-settings-5m9tg7g54f"]["data"] == {"a": "1", "b": "two"}


def test_a_value_is_put_into_fields_and_paths(tmp_path: Path) -> None:
    transformer = """\
apiVersion: builtin
kind: ValueAddTransformer
metadata: {name: x}
value: hello
targets:
- {fieldPath: metadata/annotations/note}
- {selector: {kind: ConfigMap}, fieldPath: data/path, filePathPosition: 2}
- {selector: {kind: Secret}, fieldPath: data/other}
"""
    folder = tree(
        tmp_path,
        settings="{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {path: a/b/c}}",
        add=transformer,
        kustomization="resources: [settings.yaml]\ntransformers: [add.yaml]\n",
    )
    value = built(folder)["ConfigMap/a"]
    assert value["metadata"]["annotations"] == {"note": "hello"}
    assert value["data"] == {"path": "a/hello/b/c"}


def test_an_overlay_patches_its_base_and_what_it_patches_comes_first(tmp_path: Path) -> None:
    folder = tree(
        tmp_path,
        base__web=DEPLOYMENT,
        base__kustomization="resources: [web.yaml]\n",
        over__kustomization="""\
resources: [../base]
patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec: {template: {spec: {containers: [{name: b, image: three}]}}}
- target: {kind: Dep.*}
  patch: |
    - {op: add, path: /metadata/annotations/note, value: x}
images:
- {name: one, newName: uno, newTag: "2"}
replicas:
- {name: web, count: 3}
namespace: space
labels:
- {pairs: {tier: front}, includeSelectors: true}
""",
    )
    web = built(f"{folder}/over")["Deployment/web"]
    images = [container["image"] for container in containers(web)]
    assert images == ["three", "uno:2"]
    metadata = {"name": "web", "namespace": "space", "labels": {"tier": "front"}}
    assert web["metadata"] == {**metadata, "annotations": {"note": "x"}}
    assert web["spec"]["replicas"] == 3
    assert web["spec"]["selector"]["matchLabels"] == {"app": "web", "tier": "front"}


def test_an_item_is_deleted_and_a_list_replaced_by_a_patch(tmp_path: Path) -> None:
    patch = """\
patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec: {template: {spec: {containers: [%s]}}}
"""
    for entry, names in (
        ("{name: a, $patch: delete}", ["b"]),
        ("{$patch: replace}, {name: c, image: x}", ["c"]),
    ):
        text = "resources: [web.yaml]\n" + patch % entry
        folder = tree(tmp_path, web=DEPLOYMENT, kustomization=text)
        web = built(folder)["Deployment/web"]
        assert [container["name"] for container in containers(web)] == names


def test_components_replacements_and_variables_change_values(tmp_path: Path) -> None:
    folder = tree(
        tmp_path,
        web=DEPLOYMENT,
        part__kustomization="""\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
commonAnnotations: {by: $(NAME)}
""",
        kustomization="""\
resources: [web.yaml]
components: [part]
nameSuffix: -x
replacements:
- source: {kind: Deployment, fieldPath: metadata.name}
  targets:
  - select: {kind: Deployment}
    fieldPaths: ["spec.template.spec.containers.[name=b].image"]
    options: {delimiter: ":", index: 1}
vars:
- name: NAME
  objref: {apiVersion: apps/v1, kind: Deployment, name: web}
""",
    )
    web = built(folder)["Deployment/web-x"]
    assert web["metadata"]["annotations"] == {"by": "web-x"}
    assert containers(web)[1]["image"] == "two:web-x"


def test_a_generator_merges_into_that_of_the_base(tmp_path: Path) -> None:
    generator = "configMapGenerator: [{name: m, behavior: %s, literals: [%s]}]\n"
    folder = tree(
        tmp_path,
        base__kustomization=generator % ("create", "a=1, b=1"),
        kustomization="resources: [base]\ngeneratorOptions: {disableNameSuffixHash: true}\n"
        + generator % ("merge", "b=2"),
    )
    assert built(folder)["ConfigMap/m"]["data"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("resources: [https://example.org/x.yaml]", "is remote"),
        ("resources: [github.com/a/b?ref=v1]", "is remote"),
        ("resources: [..]", "is a cycle"),
        ("resources: [missing.yaml]", "neither a file nor a folder"),
        ("configMapGenerator: [{name: m, files: [../secret]}]", "outside of this folder"),
        ("configMapGenerator: [{name: m, files: [link]}]", "outside of this folder"),
        ("configMapGenerator: [{name: m, literals: [a]}]", "a literal is KEY=VALUE"),
        ("configMapGenerator: [{name: m, behavior: merge}]", "does not exist"),
        ("resource: [a]", "unknown field resource"),
        ("images: [{name: a, newTag: 1.5}]", "the number 1.5: quote it"),
        ("helmCharts: [{name: a}]", "helmCharts is not supported"),
        ("validators: [a.yaml]", "validators is not supported"),
        (f"transformers: ['{PLUGIN.format('builtin')}']", "a transformer is one of"),
        (f"generators: ['{PLUGIN.format('a/v1')}']", "only those of apiVersion builtin"),
        ("kind: Pod", "kind is Pod"),
        ("", "is empty"),
        ("a: [", "yaml"),
        ("resources: [big.yaml]", "bytes"),
        ("resources: [list.yaml]", "a document is not an object"),
        ("resources: [nameless.yaml]", "has no metadata.name"),
    ],
)
def test_what_cannot_be_built_is_refused_in_words(
    tmp_path: Path, text: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.cli.kustomize.files.MAX_FILE_BYTES", 1000)
    (tmp_path / "secret").write_text("x")
    inner = tmp_path / "inner"
    folder = tree(
        inner,
        kustomization=f"{text}\n",
        big=f"# {'x' * 1000}\n",
        list="- a\n",
        nameless="apiVersion: v1\nkind: Pod\n",
    )
    (inner / "link").symlink_to(tmp_path / "secret")
    errors = refused(folder)
    assert problem in errors
    assert errors.startswith("error: ")


def test_two_folders_that_use_each_other_are_a_cycle(tmp_path: Path) -> None:
    folder = tree(
        tmp_path, a__kustomization="resources: [../b]\n", b__kustomization="resources: [../a]\n"
    )
    assert "is a cycle" in refused(f"{folder}/a")


def test_a_kustomization_is_created_shown_compared_applied_replaced_and_deleted(
    fairlead: Commands, tmp_path: Path
) -> None:
    text = "configMapGenerator: [{name: m, literals: [a=%s]}]\n"
    options = "generatorOptions: {disableNameSuffixHash: true}\n"
    folder = tree(tmp_path, kustomization=text % 1 + options)
    assert fairlead("create", "-k", folder) == "configmap/m created\n"
    assert fairlead("get", "-k", folder, "-o", "jsonpath={.data.a}") == "1"
    tree(tmp_path, kustomization=text % 2 + options)
    ran = fairlead.run("diff", "-k", folder, "--force-conflicts")
    assert (ran.code, '+  a: "2"' in ran.out) == (1, True)
    assert fairlead("apply", "-k", folder, "--force-conflicts").endswith("applied\n")
    assert fairlead("replace", "-k", folder) == "configmap/m replaced\n"
    assert fairlead("delete", "-k", folder) == 'configmap "m" deleted\n'


def test_a_folder_and_files_are_not_given_together(fairlead: Commands, tmp_path: Path) -> None:
    ran = fairlead.run("apply", "-k", str(tmp_path), "-f", "x.yaml")
    assert (ran.code, "-k takes one folder" in ran.errors) == (1, True)


def test_outdated_fields_are_warned_of(tmp_path: Path) -> None:
    folder = tree(tmp_path, web=DEPLOYMENT, kustomization="bases: []\nresources: [web.yaml]\n")
    ran = run_words("kustomize", folder)
    assert "bases is outdated, use resources" in ran.errors


def test_escape_sequences_of_names_do_not_reach_the_terminal(tmp_path: Path) -> None:
    name = json.dumps("a\x1b[31m")
    folder = tree(tmp_path, kustomization=f"replicas: [{{name: {name}, count: 1}}]\n")
    assert "\x1b" not in refused(folder)


def test_the_objects_are_written_to_a_file_or_to_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text(
        "configMapGenerator: [{name: a, literals: [b=c], options: {disableNameSuffixHash: true}}]\n"
    )
    shown = run_words("kustomize", str(tmp_path)).out
    assert run_words("kustomize", str(tmp_path), "-o", str(tmp_path / "all")) == (0, "", "")
    assert (tmp_path / "all").read_text() == shown
    folder = tmp_path / "each"
    folder.mkdir()
    run_words("kustomize", str(tmp_path), "-o", str(folder))
    assert [file.name for file in folder.iterdir()] == ["v1_configmap_a.yaml"]


def test_generators_and_transformers_may_have_files_of_their_own(tmp_path: Path) -> None:
    folder = tree(
        tmp_path,
        kustomization="resources: [web.yaml]\ngenerators: [made.yaml]\ntransformers: [inner]\n",
        web=DEPLOYMENT,
        made="apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: settings}\n"
        "literals: [a=b]\n",
        inner__kustomization="resources: [all.yaml]\n",
        inner__all=TRANSFORMERS,
    )
    objects = built(folder)
    web = objects["Deployment/my-web"]
    assert web["metadata"]["labels"] == {"team": "blue"}
    assert web["metadata"]["namespace"] == "space"
    assert web["spec"]["replicas"] == 3
    assert web["spec"]["paused"] is True
    containers = web["spec"]["template"]["spec"]["containers"]
    assert [container["image"] for container in containers] == ["one:9", "two:1"]
    (generated,) = (name for name in objects if name.startswith("ConfigMap/my-settings-"))
    generated = generated.partition("/")[2]
    assert containers[0]["envFrom"] == [{"configMapRef": {"name": generated}}]


@compared
def test_generators_and_transformers_give_what_those_of_kubectl_give(tmp_path: Path) -> None:
    folder = tree(
        tmp_path,
        kustomization="resources: [web.yaml]\ntransformers: [all.yaml]\n",
        web=DEPLOYMENT,
        all=TRANSFORMERS,
    )
    theirs = subprocess.run(
        [str(KUBECTL), "kustomize", str(folder)], capture_output=True, text=True, check=True
    )
    assert run_words("kustomize", str(folder)).out == theirs.stdout
