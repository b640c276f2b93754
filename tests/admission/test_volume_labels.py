"""PersistentVolumeLabel."""

from __future__ import annotations

from typing import Any

import pytest
from support.admission import World, both_dialects, refused

from fairlead.admission.plugins.persistent_volumes import VOLUMES, PersistentVolumeLabel
from fairlead.base.dialect import KUBERNETES, Dialect

Object = dict[str, Any]
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


def _volume(source: Object, **metadata: Object) -> Object:
    return {"metadata": metadata, "spec": source}


def _labelled(volume: Object, dialect: Dialect = KUBERNETES) -> tuple[Object, list[Object]]:
    """Return the labels of a new volume and the terms of its node affinity."""
    value = World(dialect).create(PersistentVolumeLabel(dialect), VOLUMES, volume)
    required = (value["spec"].get("nodeAffinity") or {}).get("required") or {}
    return value["metadata"].get("labels") or {}, required.get("nodeSelectorTerms") or []


def _in(key: str, *values: str) -> Object:
    return {"key": key, "operator": "In", "values": list(values)}


def _aws(identifier: str) -> Object:
    return {"awsElasticBlockStore": {"volumeID": identifier}}


@both_dialects
@pytest.mark.parametrize(
    ("zone", "region"), [("us-east-1a", "us-east-1"), ("us-west-2-lax-1a", "us-west-2")]
)
def test_a_volume_that_names_its_zone_is_used_there(
    dialect: Dialect, zone: str, region: str
) -> None:
    names = f"topology.{dialect.label_domain}/zone", f"topology.{dialect.label_domain}/region"
    volume = _volume(_aws(f"aws://{zone}/vol-1"), labels={"a": "b", names[0]: "elsewhere"})
    labels, terms = _labelled(volume, dialect)
    assert labels == {"a": "b", names[0]: zone, names[1]: region}
    assert terms == [{"matchExpressions": [_in(names[1], region), _in(names[0], zone)]}]


@pytest.mark.parametrize("prefix", ["topology", "failure-domain.beta"])
def test_what_a_provisioner_says_is_believed(prefix: str) -> None:
    zone, region = f"{prefix}.kubernetes.io/zone", f"{prefix}.kubernetes.io/region"
    value = {zone: "z2__z1", region: "r"}
    volume = _volume(
        _aws("vol-1"), labels=value, annotations={"pv.kubernetes.io/provisioned-by": "x"}
    )
    labels, terms = _labelled(volume)
    assert labels == value
    assert terms == [{"matchExpressions": [_in(region, "r"), _in(zone, "z1", "z2")]}]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (_aws("vol-1"), "AWS EBS volume vol-1: unable to build AWS cloud provider for EBS"),
        (_aws("aws:///vol-1"), "AWS EBS volume aws:///vol-1: unable to build AWS cloud provider"),
        (
            {"gcePersistentDisk": {"pdName": "d"}},
            "GCE PD volume d: unable to build GCE cloud provider for PD",
        ),
        (
            {"azureDisk": {"diskName": "d", "diskURI": "u"}},
            "AzureDisk volume d: unable to build Azure cloud provider for AzureDisk",
        ),
        (
            {"cinder": {"volumeID": "d"}},
            "Cinder volume d: unable to build OpenStack cloud provider for Cinder disk",
        ),
        (
            {"vsphereVolume": {"volumePath": "d"}},
            "vSphere Volume d: unable to build vSphere cloud provider",
        ),
    ],
)
def test_a_cloud_volume_whose_place_is_unknown_is_refused(source: Object, message: str) -> None:
    text = f'persistentvolumes "a" is forbidden: error querying {message}'
    text += " for EBS" if message.endswith("AWS cloud provider") else ""
    with refused(text):
        _labelled(_volume(source, labels={ZONE: "z", REGION: "r"}))


@pytest.mark.parametrize(
    "source",
    [
        {"hostPath": {"path": "/x"}},
        {"csi": {"driver": "x.io", "volumeHandle": "h"}},
        _aws("placeholder-for-provisioning"),
    ],
)
def test_other_volumes_are_left_alone(source: Object) -> None:
    assert _labelled(_volume(source, labels={"a": "b"})) == ({"a": "b"}, [])


def test_every_term_of_an_affinity_is_narrowed() -> None:
    disks = {"matchExpressions": [_in("disk", "ssd")]}
    affinity = {"required": {"nodeSelectorTerms": [disks, {}]}}
    _, terms = _labelled(_volume({**_aws("aws://us-east-1a/vol-1"), "nodeAffinity": affinity}))
    place = [_in(REGION, "us-east-1"), _in(ZONE, "us-east-1a")]
    assert terms == [
        {"matchExpressions": [_in("disk", "ssd"), *place]},
        {"matchExpressions": place},
    ]


def test_an_affinity_that_names_a_place_is_kept() -> None:
    terms = [{"matchExpressions": [_in(ZONE, "elsewhere")]}]
    affinity = {"required": {"nodeSelectorTerms": terms}}
    labels, kept = _labelled(_volume({**_aws("aws://us-east-1a/vol-1"), "nodeAffinity": affinity}))
    assert labels[ZONE] == "us-east-1a"
    assert kept == terms
