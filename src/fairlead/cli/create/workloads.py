"""Builders of deployments, jobs and cron jobs."""

from __future__ import annotations

import re

from fairlead.cli.create.form import Flag, Form, Making, Object
from fairlead.cli.errors import CommandError

_NOT_IN_NAMES = re.compile(r"[^-a-z0-9]+")
_LONGEST_NAME = 63


def _container(name: str, image: str, command: list[str]) -> Object:
    made: Object = {"name": name, "image": image}
    return {**made, "command": command} if command else made


def _named_after(image: str) -> str:
    """A container name from the last path segment of the image, without tag and digest."""
    last = image.rpartition("/")[2].partition(":")[0].partition("@")[0]
    return _NOT_IN_NAMES.sub("-", last.lower())[:_LONGEST_NAME].strip("-") or "main"


async def _deployment(at: Making) -> Object:
    images, command = at.values("image"), at.options.behind
    if not images:
        raise CommandError('required flag(s) "image" not set')
    if len(images) > 1 and command:
        raise CommandError("a command needs a single container, but there are several images")
    replicas, port = at.number("replicas"), at.number("port")
    if replicas < 0:
        raise CommandError("--replicas must not be negative")
    containers = [_container(_named_after(image), image, command) for image in images]
    if port >= 0:
        containers[0]["ports"] = [{"containerPort": port}]
    labels = {"app": at.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": at.name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }


def _job_spec(at: Making, image: str, restart: str) -> Object:
    container = _container(at.name, image, at.options.behind)
    return {"template": {"spec": {"containers": [container], "restartPolicy": restart}}}


async def _job(at: Making) -> Object:
    image, origin = at.text("image"), at.text("from")
    if bool(image) == bool(origin):
        raise CommandError("give --image or --from=cronjob/NAME")
    if origin:
        return await _job_of(at, origin)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": at.name},
        "spec": _job_spec(at, image, "Never"),
    }


async def _job_of(at: Making, origin: str) -> Object:
    """The job that the cron job would create now."""
    if at.options.behind:
        raise CommandError("cannot specify --from and command")
    kind, slash, name = origin.partition("/")
    if not slash or not name:
        raise CommandError("--from takes a cron job: cronjob/NAME")
    resource = await at.client.resource(kind)
    if resource.type.kind != "CronJob":
        raise CommandError("--from takes a cron job: cronjob/NAME")
    found = await resource.get(name, at.options.namespace or None)
    template = found["spec"]["jobTemplate"]
    metadata = template.get("metadata") or {}
    made: Object = {
        "name": at.name,
        "annotations": {
            at.dialect.label("cronjob.@/instantiate"): "manual",
            **(metadata.get("annotations") or {}),
        },
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "CronJob",
                "name": name,
                "uid": found["metadata"]["uid"],
                "controller": True,
            }
        ],
    }
    if metadata.get("labels"):
        made["labels"] = metadata["labels"]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": made, "spec": template["spec"]}


async def _cron_job(at: Making) -> Object:
    image, schedule = at.required("image"), at.required("schedule")
    spec = _job_spec(at, image, at.text("restart") or "OnFailure")
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": at.name},
        "spec": {
            "schedule": schedule,
            "jobTemplate": {"metadata": {"name": at.name}, "spec": spec},
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
