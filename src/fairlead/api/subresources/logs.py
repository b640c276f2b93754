"""Container logs (`pods/log`)."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from fairlead.api.answers import Answer
from fairlead.api.parameters import flag, integer
from fairlead.api.relay.answers import Relayed
from fairlead.api.relay.forward import ProxiedRequest
from fairlead.api.relay.headers import INERT
from fairlead.api.request import Request
from fairlead.api.subresources.relay import not_allowed
from fairlead.api.subresources.simulated import is_simulated, simulated_log
from fairlead.api.subresources.targets import container_of, node_place, pod_of
from fairlead.base.errors import ResourceRef, StatusError, bad_request, internal, invalid
from fairlead.codec.types.times import TimeError, parse_time
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation
from fairlead.resources.causes import new_causes
from fairlead.resources.rules import NON_NEGATIVE, POSITIVE
from fairlead.wire.outgoing.addresses import NotAllowed
from fairlead.wire.outgoing.response import CallError

_UNCHECKED = "insecureSkipTLSVerifyBackend"
_LOG_FLAGS = ("follow", "previous", "timestamps")
_LOG_VALUES = ("sinceSeconds", "sinceTime", "tailLines", "limitBytes")
_MAX_ERROR_BYTES = 50_000
_AGENT_REASONS = {400: "BadRequest", 404: "NotFound", 503: "ServiceUnavailable"}
_LOG_HEADERS = (
    (b"cache-control", b"no-cache, private"),
    (b"content-type", b"text/plain"),
    *INERT,
)


class NoContent(Answer):
    """204: the pod is not scheduled, so there is no log."""

    def __init__(self) -> None:
        super().__init__(204, b"")

    async def send(self, request: Request) -> None:
        request.exchange.respond(204, [(b"cache-control", b"no-cache, private")], b"")


async def read_log(api: Api, request: Request, operation: Operation) -> Answer:
    _check_log_options(api, request)
    pod = pod_of(api, request)
    container = container_of(pod, request.parameter("container"))
    node = pod["spec"].get("nodeName")
    if not node:
        return NoContent()
    if is_simulated(api, node):
        return simulated_log(api, request, pod, container, _LOG_HEADERS)
    place = node_place(api, node, checked=not flag(request, _UNCHECKED))
    names = (request.target.namespace, request.target.name, container)
    path = f"/containerLogs/{'/'.join(quote(name, safe='') for name in names)}"
    query = _log_query(request)
    try:
        connection = await api.reach.open(place, path + (f"?{query}" if query else ""))
    except NotAllowed:
        raise not_allowed() from None
    except CallError as error:
        raise StatusError(500, "", f'Get "{place.url}{path}": {error}') from None
    passed = ProxiedRequest(api.reach.pool, connection)
    if not 200 <= connection.status <= 206:
        raise await _agent_error(passed)
    return Relayed(passed, _LOG_HEADERS)


def _log_query(request: Request) -> str:
    flags = {name: "true" for name in _LOG_FLAGS if flag(request, name)}
    values = {name: request.parameter(name) for name in _LOG_VALUES if request.parameter(name)}
    return urlencode(flags | values)


async def _agent_error(passed: ProxiedRequest) -> StatusError:
    """The kubelet's error, with its status code."""
    try:
        text = (await passed.connection.read_all(_MAX_ERROR_BYTES)).decode(errors="replace")
    except CallError as error:
        return internal(str(error))
    finally:
        passed.end()
    status = passed.connection.status
    if status in _AGENT_REASONS:
        return StatusError(status, _AGENT_REASONS[status], text)
    return internal(text if status == 500 else f"answered {status}: {text}")


def _check_log_options(api: Api, request: Request) -> None:
    causes = new_causes(api.gates)
    tail, limit = integer(request, "tailLines"), integer(request, "limitBytes")
    since, moment = integer(request, "sinceSeconds"), request.parameter("sinceTime")
    if moment:
        try:
            parse_time(moment)
        except TimeError as error:
            raise bad_request(str(error)) from None
    if tail is not None and tail < 0:
        causes.invalid("tailLines", tail, NON_NEGATIVE)
    if limit is not None and limit < 1:
        causes.invalid("limitBytes", limit, POSITIVE)
    if since is not None and moment:
        detail = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.forbidden("[]", detail)
    elif since is not None and since < 1:
        causes.invalid("sinceSeconds", since, POSITIVE)
    if "stream" in request.query and api.gates["PodLogStream"]:
        causes.forbidden("stream", "may not be specified")
    if causes:
        raise invalid(ResourceRef("", "PodLogOptions", request.target.name), causes)
