"""Definitions like those of widely used operators, with valid and invalid objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.definitions import Kind
from support.kubectl import KUBECTL, Kubectl
from support.namespaces import Space
from support.process import ServerProcess

SHAPES = sorted((Path(__file__).parent / "shapes").glob("*.yaml"))


def load(path: Path, space: Space) -> tuple[Kind, dict[str, Any]]:
    """The definition in the words of the dialect, in a group of the test's own."""
    text = path.read_text().replace("x-kubernetes-", f"x-{space.dialect.marker}-")
    shape = json.loads(json.dumps(yaml.safe_load(text)))
    spec = shape["spec"]
    names = spec.pop("names")
    kind = Kind(
        space,
        *spec.pop("versions"),
        plural=names.pop("plural"),
        kind=names.pop("kind"),
        names=names,
        **spec,
    )
    return kind.install(), shape


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_good_objects_are_taken_and_defaulted_and_bad_ones_refused(
    space: Space, path: Path
) -> None:
    kind, shape = load(path, space)
    for index, good in enumerate(shape["good"]):
        item = kind.create(f"good-{index}", spec=good["spec"])
        assert item["spec"] == good.get("becomes", item["spec"])
        again = kind.collection().update(item)
        assert again["metadata"]["resourceVersion"] == item["metadata"]["resourceVersion"]
    for bad in shape["bad"]:
        answer = kind.client.post(kind.collection().path, kind.value("bad", spec=bad["spec"]))
        assert answer.status == 422, answer.text
        result = {field for field, _, _ in answer.causes if field not in ("<nil>", "nil")}
        assert result == set(bad["causes"]), answer.text
    assert len(kind.collection().list().body["items"]) == len(shape["good"])
    kind.remove()


@pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed: not tried out")
@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_kubectl_works_on_them(
    kubernetes: Space, server: ServerProcess, path: Path, tmp_path: Path
) -> None:
    kind, shape = load(path, kubernetes)
    kubectl = Kubectl(server, kubernetes.name, tmp_path)
    value = kind.value("a", spec=shape["good"][0]["spec"])
    full = f"{kind.plural}.{kind.group}"
    assert "created" in kubectl("apply", "-f", "-", text=json.dumps(value))
    created = kind.collection().read("a")
    kubectl("apply", "-f", "-", text=json.dumps(value))
    assert kind.collection().read("a") == created
    value["metadata"]["labels"] = {"new": "label"}
    assert "+    new: label" in kubectl.fails("diff", "-f", "-", text=json.dumps(value))
    header = kubectl("get", full).split("\n")[0].split()
    version = kind.body["spec"]["versions"][-1]
    wanted = [column["name"].upper() for column in version["additionalPrinterColumns"]]
    assert header[0] == "NAME"
    assert set(header[1:]) <= set(wanted)
    explained = kubectl(
        *("explain", f"{kind.plural}.spec"),
        f"--api-version={kind.group}/{version['name']}",  # old releases know no full names here
    )
    fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert all(name in explained for name in fields)
    kubectl("delete", full, "a")
    kind.remove()
