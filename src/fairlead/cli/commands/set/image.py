"""`set image`: sets the images of containers."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.templates.patches import (
    Object,
    add_change_flags,
    change_selected,
    container_patch,
    containers,
    pod_patch,
    pod_spec,
    title,
)


def add_flags(parser: ArgumentReader) -> None:
    add_change_flags(parser, "set", "KIND [NAME...] CONTAINER=IMAGE...")
    parser.epilog = "The container * is all of them."


async def run(invocation: Invocation) -> int:
    words = invocation.options.words
    images: dict[str, str] = {}
    for word in words:
        container, sign, image = word.partition("=")
        if not sign:
            continue
        if not container or not image:
            raise CommandError(f"{word}: give CONTAINER=IMAGE")
        images[container] = image
    if not images:
        raise CommandError("say which image: CONTAINER=IMAGE, or *=IMAGE for all containers")

    def change(resolved: ResolvedObject) -> Object:
        spec, changed = pod_spec(resolved), []
        missing = set(images) - {"*"}
        for name, container in containers(spec):
            missing.discard(container["name"])
            image = images.get(container["name"], images.get("*"))
            if image and container.get("image") != image:
                changed.append((name, {"name": container["name"], "image": image}))
        if missing:
            raise CommandError(f"{title(resolved)} has no container {', '.join(sorted(missing))}")
        return pod_patch(resolved, container_patch(changed))

    return await change_selected(
        invocation, [word for word in words if "=" not in word], change, "image"
    )
