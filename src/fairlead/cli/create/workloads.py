"""Builders of deployments, jobs and cron jobs."""

from __future__ import annotations

import re

from fairlead.cli.create.form import Flag, Form, FormArguments, Object
from fairlead.cli.errors import CommandError

_NOT_IN_NAMES = re.compile(r"[^-a-z0-9]+")
_MAX_NAME_LENGTH = 63


def _container(name: str, image: str, command: list[str]) -> Object:
    container: Object = {"name": name, "image": image}
    return {**container, "command": command} if command else container


def _named_after(image: str) -> str:
    """A container name from the last path segment of the image, without tag and digest."""
    last = image.rpartition("/")[2].partition(":")[0].partition("@")[0]
    return _NOT_IN_NAMES.sub("-", last.lower())[:_MAX_NAME_LENGTH].strip("-") or "main"


async def _deployment(arguments: FormArguments) -> Object:
    images, command = arguments.values("image"), arguments.options.behind
    if not images:
        raise CommandError("--image is missing")
    if len(images) > 1 and command:
        raise CommandError("a command needs a single container, but there are several images")
    replicas, port = arguments.number("replicas"), arguments.number("port")
    if replicas < 0:
        raise CommandError("--replicas must not be negative")
    containers = [_container(_named_after(image), image, command) for image in images]
    if port >= 0:
        containers[0]["ports"] = [{"containerPort": port}]
    labels = {"app": arguments.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": arguments.name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }


def _job_spec(arguments: FormArguments, image: str, restart: str) -> Object:
    container = _container(arguments.name, image, arguments.options.behind)
    return {"template": {"spec": {"containers": [container], "restartPolicy": restart}}}


async def _job(arguments: FormArguments) -> Object:
    image, origin = arguments.text("image"), arguments.text("from")
    if bool(image) == bool(origin):
        raise CommandError("give --image or --from=cronjob/NAME")
    if origin:
        return await _job_of(arguments, origin)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": arguments.name},
        "spec": _job_spec(arguments, image, "Never"),
    }


async def _job_of(arguments: FormArguments, origin: str) -> Object:
    """The job that the cron job would create now."""
    if arguments.options.behind:
        raise CommandError("cannot specify --from and command")
    kind, slash, name = origin.partition("/")
    if not slash or not name:
        raise CommandError("--from takes a cron job: cronjob/NAME")
    resource = await arguments.client.resource(kind)
    if resource.type.kind != "CronJob":
        raise CommandError("--from takes a cron job: cronjob/NAME")
    cron_job = await resource.get(name, arguments.options.namespace or None)
    template = cron_job["spec"]["jobTemplate"]
    metadata = template.get("metadata") or {}
    job: Object = {
        "name": arguments.name,
        "annotations": {
            arguments.dialect.label("cronjob.@/instantiate"): "manual",
            **(metadata.get("annotations") or {}),
        },
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "CronJob",
                "name": name,
                "uid": cron_job["metadata"]["uid"],
                "controller": True,
            }
        ],
    }
    if metadata.get("labels"):
        job["labels"] = metadata["labels"]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": job, "spec": template["spec"]}


async def _cron_job(arguments: FormArguments) -> Object:
    image, schedule = arguments.required("image"), arguments.required("schedule")
    spec = _job_spec(arguments, image, arguments.text("restart") or "OnFailure")
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": arguments.name},
        "spec": {
            "schedule": schedule,
            "jobTemplate": {"metadata": {"name": arguments.name}, "spec": spec},
        },
    }


_IMAGE = Flag("image", "image of the container", "IMAGE")
FORMS = {
    "deployment": Form(
        "a deployment; the words after -- are the command of its container",
        _deployment,
        (
            Flag("image", "image of a container; can be repeated", "IMAGE", many=True),
            Flag("replicas", "number of pods", "N", default=1, short="-r"),
            Flag("port", "port of the container", "PORT", default=-1),
        ),
        "failed to create deployment: ",
        has_command=True,
    ),
    "job": Form(
        "a job; what follows -- is the command of its container",
        _job,
        (_IMAGE, Flag("from", "create the job from this cron job", "cronjob/NAME")),
        "failed to create job: ",
        has_command=True,
    ),
    "cronjob": Form(
        "a cron job; what follows -- is the command of its container",
        _cron_job,
        (
            _IMAGE,
            Flag("schedule", "schedule in cron format", "SCHEDULE"),
            Flag("restart", "OnFailure or Never", "POLICY"),
        ),
        "failed to create cronjob: ",
        has_command=True,
    ),
}
