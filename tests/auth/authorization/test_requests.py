"""From a path and a query to the attributes of authorization."""

from __future__ import annotations

import pytest
from support.authorization import user

from fairlead.api.routing import route
from fairlead.auth.authorization.requests import attributes_of
from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.registry import Resources

RESOURCES = Resources(KUBERNETES, BuiltinTypes(KUBERNETES))
ALICE = user("alice")
NS = "/api/v1/namespaces/ns"


@pytest.mark.parametrize(
    ("method", "path", "selector", "expected"),
    [
        ("GET", f"{NS}/pods", "", "list|pods|ns|"),
        ("GET", f"{NS}/pods/", "", "list|pods|ns|"),
        ("GET", f"{NS}/pods/p", "", "get|pods|ns|p"),
        ("GET", f"{NS}/pods/p/log", "", "get|pods/log|ns|p"),
        ("HEAD", f"{NS}/pods/p", "", "get|pods|ns|p"),
        ("OPTIONS", f"{NS}/pods", "", "|pods|ns|"),
        ("POST", f"{NS}/pods", "", "create|pods|ns|"),
        ("PUT", f"{NS}/pods/p", "", "update|pods|ns|p"),
        ("PATCH", f"{NS}/pods/p", "", "patch|pods|ns|p"),
        ("DELETE", f"{NS}/pods/p", "", "delete|pods|ns|p"),
        ("DELETE", f"{NS}/pods", "", "deletecollection|pods|ns|"),
        ("DELETE", f"{NS}/pods", "metadata.name=p", "deletecollection|pods|ns|"),
        ("GET", "/api/v1/pods", "", "list|pods||"),
        ("GET", "/api/v1/namespaces//pods", "", "list|pods||"),
        ("GET", NS, "", "get|namespaces|ns|ns"),
        ("PUT", f"{NS}/finalize", "", "update|namespaces/finalize|ns|ns"),
        ("GET", "/api/v1/namespaces", "", "list|namespaces||"),
        ("GET", "/api/v1/watch/namespaces/ns/pods", "", "watch|pods|ns|"),
        ("GET", "/api/v1/watch/namespaces/ns/pods/p", "", "watch|pods|ns|p"),
        ("POST", "/api/v1/watch/namespaces/ns/pods", "", "watch|pods|ns|"),
        ("DELETE", "/api/v1/watch/pods", "", "watch|pods||"),
        ("GET", "/api/v1/proxy/nodes/n/a/b", "", "proxy|nodes||n"),
        ("PUT", "/api/v1/proxy/namespaces/ns/services/s:80/a", "", "proxy|services|ns|s:80"),
        ("GET", f"{NS}/services/s/proxy/a/b", "", "get|services/proxy|ns|s"),
        ("GET", "/apis/apps/v9/deployments", "", "list|deployments||"),
        ("GET", f"{NS}/nosuchthings/x/sub", "", "get|nosuchthings/sub|ns|x"),
        ("GET", f"{NS}/pods", "metadata.name=p", "list|pods|ns|p"),
        ("GET", f"{NS}/pods", "metadata.name==p", "list|pods|ns|p"),
        ("GET", f"{NS}/pods", "status.phase=x,metadata.name=p", "list|pods|ns|p"),
        ("GET", f"{NS}/pods", "metadata.name=q,metadata.name=p", "list|pods|ns|p"),
        ("GET", "/api/v1/watch/namespaces/ns/pods", "metadata.name=p", "watch|pods|ns|"),
        ("GET", f"{NS}/pods", "metadata.name!=p", "list|pods|ns|"),
        ("GET", f"{NS}/pods", "metadata.namespace=p", "list|pods|ns|"),
        ("GET", f"{NS}/pods", "metadata.name=..", "list|pods|ns|"),
        ("GET", f"{NS}/pods", "metadata.name=a/b", "list|pods|ns|"),
        ("GET", f"{NS}/pods", "metadata.name=", "list|pods|ns|"),
        ("GET", f"{NS}/pods", "nonsense", "list|pods|ns|"),
        ("GET", f"{NS}/pods/q", "metadata.name=p", "get|pods|ns|q"),
        ("GET", "/healthz", "", "get /healthz"),
        ("GET", "/api", "", "get /api"),
        ("GET", "/api/v1", "", "get /api/v1"),
        ("GET", "/api/v1/", "", "get /api/v1/"),
        ("GET", "/API/v1/pods", "", "get /API/v1/pods"),
        ("GET", "//api/v1/pods", "", "list|pods||"),
        ("GET", "/api/v1/pods//", "", "list|pods||"),
        ("GET", "/api//v1/pods", "", "get|v1||pods"),
        ("GET", "/api/v1//pods", "", "get|||pods"),
        ("GET", "/apis/apps//v1/deployments", "", "get|v1||deployments"),
        ("GET", "/apis//v1", "", "get /apis//v1"),
        ("OPTIONS", "/x", "", "options /x"),
    ],
)
def test_questions(method: str, path: str, selector: str, expected: str) -> None:
    attributes = attributes_of(ALICE, route(RESOURCES, method, path), selector)
    if attributes.is_resource:
        message = (
            f"{attributes.verb}|{attributes.full_resource}|{attributes.namespace}|{attributes.name}"
        )
    else:
        message = f"{attributes.verb} {attributes.path}"
    assert message == expected
