"""How long the walkers take on a two-container Pod.

Run it with `PYTHONPATH=tests python tests/fields/measure.py`. It prints microseconds
of CPU, the best of several rounds; decoding and encoding of JSON for comparison.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import orjson
from support.patching import POD, STATUS, held_fields

from fairlead.base.dialect import KUBERNETES
from fairlead.fields.entries import OneVersion
from fairlead.fields.merge_patch import apply_merge_patch
from fairlead.fields.ownership import apply, track_update
from fairlead.fields.typed_values import applied_fields

_WRITTEN = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_DEFAULTED = {**_WRITTEN, "imagePullPolicy": "IfNotPresent"}
CONTAINERS: list[dict[str, Any]] = [
    {
        "name": "web",
        "image": "registry.example/web:1",
        "ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    },
    {
        "name": "proxy",
        "image": "registry.example/proxy:2",
        "args": ["-c", "/cfg/proxy.yaml"],
        "env": [{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "volumeMounts": [{"name": "cfg", "mountPath": "/cfg"}],
    },
]
CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "labels": {"app": "web", "tier": "front"}},
    "spec": {
        "volumes": [
            {"name": "data", "emptyDir": {}},
            {"name": "cfg", "configMap": {"name": "cfg"}},
        ],
        "containers": CONTAINERS,
    },
}
LIVE: dict[str, Any] = {
    **CONFIG,
    "metadata": {
        **CONFIG["metadata"],
        "namespace": "default",
        "uid": "7c1b3f0e-5d1c-4f0e-9a57-3d3f6c1d2b1a",
        "resourceVersion": "1234",
        "creationTimestamp": "2024-01-01T00:00:00Z",
    },
    "spec": {
        **CONFIG["spec"],
        "containers": [{"resources": {}, **item, **_DEFAULTED} for item in CONTAINERS],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": [{"key": "node.example/not-ready", "operator": "Exists"}],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    },
    "status": {"phase": "Pending", "qosClass": "Burstable"},
}
VERSIONS = OneVersion("v1", POD)
OPTIONS: dict[str, Any] = {
    "api_version": "v1",
    "now": "2024-01-01T00:00:00Z",
    "dialect": KUBERNETES,
    "ignored": STATUS,
}


def best(work: Callable[[], object], rounds: int = 12, times: int = 1000) -> float:
    results = []
    for _ in range(rounds):
        start = time.process_time_ns()
        for _ in range(times):
            work()
        results.append(time.process_time_ns() - start)
    return min(results) / times / 1000


def main() -> None:
    live = copy.deepcopy(LIVE)
    created = track_update(VERSIONS, None, live, manager="creator", **OPTIONS)
    live["metadata"]["managedFields"] = created
    _, entries = apply(VERSIONS, live, CONFIG, manager="applier", **OPTIONS)
    live["metadata"]["managedFields"] = entries
    image = copy.deepcopy(live)
    image["spec"]["containers"][0]["image"] = "registry.example/web:2"
    patch = {"metadata": {"labels": {"tier": "back"}}}
    patched = apply_merge_patch(live, patch)
    other = copy.deepcopy(CONFIG)
    other["spec"]["containers"][0]["image"] = "registry.example/web:2"
    fewer = copy.deepcopy(CONFIG)
    del fewer["metadata"]["labels"]["tier"]
    text = orjson.dumps(live)
    work: dict[str, Callable[[], object]] = {
        "fields of the Pod, as an update owns them": lambda: held_fields(POD, LIVE),
        "fields of the Pod, as an applier owns them": lambda: applied_fields(POD, CONFIG),
        "track a create": lambda: track_update(VERSIONS, None, LIVE, manager="m", **OPTIONS),
        "track an update of an image (nothing shared)": lambda: track_update(
            VERSIONS, live, image, manager="m", **OPTIONS
        ),
        "merge patch of a label": lambda: apply_merge_patch(live, patch),
        "track a merge patch of a label": lambda: track_update(
            VERSIONS, live, patched, manager="m", **OPTIONS
        ),
        "track an update that changes nothing": lambda: track_update(
            VERSIONS, live, dict(live), manager="m", **OPTIONS
        ),
        "apply an unchanged configuration": lambda: apply(
            VERSIONS, live, CONFIG, manager="applier", **OPTIONS
        ),
        "apply a changed image": lambda: apply(
            VERSIONS, live, other, manager="applier", force=True, **OPTIONS
        ),
        "apply without a label applied before": lambda: apply(
            VERSIONS, live, fewer, manager="applier", **OPTIONS
        ),
        "decode the Pod's JSON": lambda: orjson.loads(text),
        "encode the Pod's JSON": lambda: orjson.dumps(live),
    }
    for name, function in work.items():
        print(f"{best(function):8.1f} µs  {name}")


if __name__ == "__main__":
    main()
