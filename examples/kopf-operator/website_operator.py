"""Keeps a Deployment for every Website, and reports the number of ready pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import kopf
import kubernetes

LABEL = "example.com/website"
SIMULATION = "simulation.fairlead/"
SECONDS_TO_NEXT_TRY = 0.5


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    kubernetes.config.load_kube_config()
    settings.posting.enabled = False  # events of kopf's own
    settings.watching.server_timeout = 60


@kopf.on.resume("websites")
@kopf.on.create("websites")
@kopf.on.update("websites")
def deploy(name: str, namespace: Any, spec: kopf.Spec, annotations: Any, **_: Any) -> None:
    """Create or update the Deployment of the Website."""
    wanted: Any = deployment(name, spec, annotations)
    kopf.adopt(wanted)
    apps = kubernetes.client.AppsV1Api()
    try:
        try:
            apps.create_namespaced_deployment(namespace, wanted)
        except kubernetes.client.ApiException as error:
            if error.status != 409:
                raise
            apps.patch_namespaced_deployment(name, namespace, wanted)
    except kubernetes.client.ApiException as error:
        text = f"the server answers {error.status} {error.reason}"
        raise kopf.TemporaryError(text, delay=SECONDS_TO_NEXT_TRY) from error


def deployment(
    name: str, spec: Mapping[str, Any], annotations: Mapping[str, str]
) -> dict[str, Any]:
    labels = {LABEL: name}
    simulation = {key: text for key, text in annotations.items() if key.startswith(SIMULATION)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": spec.get("replicas", 1),
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": simulation},
                "spec": {"containers": [{"name": "web", "image": spec["image"]}]},
            },
        },
    }


@kopf.on.event("apps", "v1", "deployments", labels={LABEL: kopf.PRESENT})
def report(type: str | None, labels: Any, namespace: Any, status: Any, **_: Any) -> None:
    """Write the number of ready pods to the status of the Website."""
    if type == "DELETED":
        return
    value = {"status": {"ready": status.get("readyReplicas", 0)}}
    try:
        kubernetes.client.CustomObjectsApi().patch_namespaced_custom_object_status(
            "example.com", "v1", namespace, "websites", labels[LABEL], value
        )
    except kubernetes.client.ApiException as error:
        if error.status != 404:  # the Website went first
            raise
