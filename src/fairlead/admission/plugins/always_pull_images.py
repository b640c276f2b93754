"""AlwaysPullImages: forces the pull policy Always, so that a pod cannot use an image on a node that
only another pod has the credentials for."""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, refusal
from fairlead.resources.core.pods.container_lists import all_containers, containers_with_paths

_ALWAYS = "Always"


class AlwaysPullImages(PluginBase):
    name = "AlwaysPullImages"

    def admit(self, attributes: Attributes) -> None:
        if _applies(attributes):
            assert attributes.value is not None
            for container in all_containers(attributes.value["spec"]):
                container["imagePullPolicy"] = _ALWAYS

    def validate(self, attributes: Attributes) -> None:
        if not _applies(attributes):
            return
        assert attributes.value is not None
        for container, path in containers_with_paths(attributes.value["spec"], "spec"):
            policy = container.get("imagePullPolicy", "")
            if policy != _ALWAYS:
                raise refusal(
                    attributes,
                    f'{path}.imagePullPolicy: Unsupported value: "{policy}": supported values:'
                    f' "{_ALWAYS}"',
                )


def _applies(attributes: Attributes) -> bool:
    if attributes.resource.key != PODS or attributes.value is None:
        return False
    if attributes.operation == CREATE:
        return True
    if attributes.operation != UPDATE or attributes.old is None:
        return False
    return not _images(attributes.value) <= _images(attributes.old)


def _images(pod: Object) -> set[str]:
    return {container.get("image", "") for container in all_containers(pod["spec"])}
