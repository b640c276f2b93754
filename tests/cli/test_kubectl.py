"""kubectl, as its users run it, against the kubernetes dialect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.kubectl import KUBECTL, Kubectl, compared
from support.namespaces import Space

from fairlead import __version__

pytestmark = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed: not tried out")

CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  labels: {app: web}
data:
  k: v
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: nginx}]
"""


@pytest.fixture
def kubectl(kubernetes: Space, tmp_path: Path) -> Kubectl:
    return Kubectl(kubernetes.server, kubernetes.name, tmp_path)


def create(kubectl: Kubectl, text: str) -> str:
    return kubectl("create", "--validate=false", "-f", "-", text=text)


def test_create_and_get(kubectl: Kubectl) -> None:
    assert create(kubectl, CONFIG_MAP) == "configmap/a created\n"
    head, row = kubectl("get", "configmap", "a").splitlines()
    assert head.split() == ["NAME", "DATA", "AGE"]
    assert row.split()[:2] == ["a", "1"]


def test_short_names_and_plurals(kubectl: Kubectl) -> None:
    create(kubectl, CONFIG_MAP)
    for name in ("cm", "configmaps", "configmap", "cm/a"):
        assert "a " in kubectl("get", name)


def test_wide_output_has_more_columns(kubectl: Kubectl) -> None:
    create(kubectl, DEPLOYMENT)
    narrow = kubectl("get", "deploy", "web").splitlines()[0].split()
    wide = kubectl("get", "deploy", "web", "-o", "wide").splitlines()[0].split()
    assert narrow == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert wide[:5] == narrow
    assert {"CONTAINERS", "IMAGES", "SELECTOR"} <= set(wide)


def test_yaml_json_and_names(kubectl: Kubectl) -> None:
    create(kubectl, CONFIG_MAP)
    assert json.loads(kubectl("get", "cm", "a", "-o", "json"))["data"] == {"k": "v"}
    assert "  k: v\n" in kubectl("get", "cm", "a", "-o", "yaml")
    assert kubectl("get", "cm", "a", "-o", "name") == "configmap/a\n"
    assert kubectl("get", "cm", "a", "-o", "jsonpath={.data.k}") == "v"


def test_selectors_and_all_namespaces(kubectl: Kubectl, kubernetes: Space) -> None:
    create(kubectl, CONFIG_MAP)
    assert kubectl("get", "cm", "-l", "app=web", "-o", "name") == "configmap/a\n"
    assert kubectl("get", "cm", "-l", "app=db", "-o", "name") == ""
    selector = f"--field-selector=metadata.name=a,metadata.namespace={kubernetes.name}"
    assert kubectl("get", "cm", "-A", selector, "-o", "name") == "configmap/a\n"


def test_chunks_are_put_together(kubectl: Kubectl, kubernetes: Space) -> None:
    kubernetes.secrets.create_all(*"abcde")
    listed = kubectl("get", "secrets", "--chunk-size=2", "-o", "name").split()
    assert listed == [f"secret/{name}" for name in "abcde"]


def test_replace(kubectl: Kubectl) -> None:
    create(kubectl, CONFIG_MAP)
    changed = CONFIG_MAP.replace("k: v", "k: w")
    done = kubectl("replace", "--validate=false", "-f", "-", text=changed)
    assert done == "configmap/a replaced\n"
    assert kubectl("get", "cm", "a", "-o", "jsonpath={.data.k}") == "w"


def test_replacing_from_an_old_version_fails(kubectl: Kubectl) -> None:
    create(kubectl, CONFIG_MAP)
    old = kubectl("get", "cm", "a", "-o", "json")
    kubectl("replace", "--validate=false", "-f", "-", text=CONFIG_MAP.replace("k: v", "k: w"))
    error = kubectl.fails("replace", "--validate=false", "-f", "-", text=old.replace('"v"', '"x"'))
    assert "the object has been modified" in error


def test_creating_twice_fails(kubectl: Kubectl) -> None:
    create(kubectl, CONFIG_MAP)
    error = kubectl.fails("create", "--validate=false", "-f", "-", text=CONFIG_MAP)
    assert 'configmaps "a" already exists' in error


def test_delete(kubectl: Kubectl) -> None:
    create(kubectl, CONFIG_MAP)
    assert kubectl("delete", "configmap", "a") == 'configmap "a" deleted\n'
    assert '(NotFound): configmaps "a" not found' in kubectl.fails("get", "cm", "a")


def test_delete_by_label(kubectl: Kubectl) -> None:
    create(kubectl, CONFIG_MAP)
    assert 'configmap "a" deleted' in kubectl("delete", "cm", "-l", "app=web")


def test_watching(kubectl: Kubectl, kubernetes: Space) -> None:
    create(kubectl, CONFIG_MAP)
    with kubectl.start("get", "cm", "a", "-w", "-o", "jsonpath={.data.k}{'\\n'}") as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "v\n"
        value = kubernetes.config_maps.read("a")
        value["data"]["k"] = "changed"
        kubernetes.config_maps.update(value)
        assert watching.stdout.readline() == "changed\n"


def test_watching_a_table(kubectl: Kubectl, kubernetes: Space) -> None:
    with kubectl.start("get", "secrets", "-w") as watching:
        assert watching.stdout is not None
        kubernetes.secrets.create("one")
        assert watching.stdout.readline().split() == ["NAME", "TYPE", "DATA", "AGE"]
        assert watching.stdout.readline().split()[:3] == ["one", "Opaque", "0"]


def test_api_resources(kubectl: Kubectl) -> None:
    rows = [line.split() for line in kubectl("api-resources").splitlines()]
    assert ["configmaps", "cm", "v1", "true", "ConfigMap"] in rows
    assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in rows
    assert ["namespaces", "ns", "v1", "false", "Namespace"] in rows


def test_api_resources_by_verb_and_scope(kubectl: Kubectl) -> None:
    names = kubectl("api-resources", "--verbs=deletecollection", "--namespaced=false", "-o", "name")
    assert "clusterroles.rbac.authorization.k8s.io" in names.split()
    assert "namespaces" not in names.split()


def test_api_versions(kubectl: Kubectl) -> None:
    versions = kubectl("api-versions").split()
    assert {"v1", "apps/v1", "autoscaling/v2", "storage.k8s.io/v1beta1"} <= set(versions)


def test_raw_reads(kubectl: Kubectl) -> None:
    assert kubectl("get", "--raw", "/readyz") == "ok"
    assert json.loads(kubectl("get", "--raw", "/version"))["minor"] == "25"
    assert "[+]ping ok" in kubectl("get", "--raw", "/livez?verbose")


@compared
def test_the_version_of_both_sides(kubectl: Kubectl) -> None:
    assert f"Server Version: v1.25.9+fairlead.{__version__}" in kubectl("version")


def test_component_statuses_as_a_table(kubectl: Kubectl) -> None:
    head, *rows = kubectl("get", "componentstatuses").splitlines()
    assert head.split() == ["NAME", "STATUS", "MESSAGE", "ERROR"]
    assert ["etcd-0", "Healthy", "ok"] in [row.split() for row in rows]


def test_categories(kubectl: Kubectl) -> None:
    create(kubectl, DEPLOYMENT)
    assert "deployment.apps/web" in kubectl("get", "all", "-o", "name").split()


def test_a_dry_run_of_the_server(kubectl: Kubectl) -> None:
    done = kubectl("create", "--validate=false", "--dry-run=server", "-f", "-", text=CONFIG_MAP)
    assert done == "configmap/a created (server dry run)\n"
    kubectl.fails("get", "cm", "a")


def test_labels_and_annotations(kubectl: Kubectl) -> None:
    create(kubectl, CONFIG_MAP)
    kubectl("label", "cm", "a", "extra=yes")
    kubectl("annotate", "cm", "a", "note=hello")
    metadata = json.loads(kubectl("get", "cm", "a", "-o", "json"))["metadata"]
    assert metadata["labels"] == {"app": "web", "extra": "yes"}
    assert metadata["annotations"]["note"] == "hello"


def test_describe(kubectl: Kubectl) -> None:
    create(kubectl, CONFIG_MAP)
    text = kubectl("describe", "cm", "a")
    assert "Name:         a" in text
    assert "app=web" in text


def test_explain_has_texts(kubectl: Kubectl) -> None:
    output = kubectl("explain", "pod.spec.containers")
    assert "A process with its own file system, running in a pod." in output
    assert "Image of the container." in output
    assert "Address of the service." in kubectl(
        "explain", "validatingwebhookconfigurations.webhooks"
    )
