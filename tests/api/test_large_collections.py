"""Collections that are larger than one slice of an answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.client import Object
from support.namespaces import Space
from support.process import ServerProcess

COUNT = 1203


@pytest.fixture(scope="module")
def crowded(server: ServerProcess) -> Iterator[Space]:
    """A namespace with over a thousand secrets."""
    client = server.client()
    space = Space(server, client)
    for number in range(COUNT):
        answer = client.post(
            space.secrets.path,
            {"metadata": {"name": f"s{number:05}"}, "data": {"k": "QUFB" * 200}},
        )
        assert answer.status == 201
    yield space
    client.close()


NAMES = [f"s{number:05}" for number in range(COUNT)]


def test_a_long_list_comes_whole_and_in_order(crowded: Space) -> None:
    answer = crowded.secrets.list()
    assert answer.names == NAMES
    assert int(answer.headers["Content-Length"]) == len(answer.raw)


def test_a_long_list_is_compressed_as_a_whole(crowded: Space) -> None:
    answer = crowded.client.get(crowded.secrets.path, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert [item["metadata"]["name"] for item in answer.body["items"]] == NAMES


@pytest.mark.parametrize("limit", [401, 500, 501, 1202, 1203, 5000])
def test_pages_of_any_size_fit_together(crowded: Space, limit: int) -> None:
    items: list[Object] = []
    token = ""
    while True:
        query = {"continue_": token} if token else {}
        body = crowded.secrets.list(limit=limit, **query).body
        items += body["items"]
        token = body["metadata"].get("continue", "")
        assert body["metadata"].get("remainingItemCount", 0) == COUNT - len(items)
        if not token:
            break
    assert [item["metadata"]["name"] for item in items] == NAMES


def test_a_watch_starts_with_all_of_them(crowded: Space) -> None:
    with crowded.secrets.watch() as watch:
        assert [event.name for event in watch.take(COUNT)] == NAMES


def test_tables_and_yaml_hold_all_of_them(crowded: Space) -> None:
    accept = f"application/json;as=Table;g={crowded.dialect.meta_group};v=v1"
    table = crowded.client.get(crowded.secrets.path, headers={"Accept": accept}).body
    assert [row["cells"][0] for row in table["rows"]] == NAMES


def test_a_selector_finds_one_of_them(crowded: Space) -> None:
    selector = f"metadata.name={NAMES[777]}"
    assert crowded.secrets.names(fieldSelector=selector) == [NAMES[777]]


def test_a_client_that_leaves_in_the_middle_harms_nobody(crowded: Space) -> None:
    for _ in range(5):
        connection = crowded.client.connect()
        connection.request("GET", crowded.secrets.path, headers=crowded.client.head_of())
        connection.getresponse().read(1000)
        connection.close()
    assert len(crowded.secrets.names()) == COUNT
