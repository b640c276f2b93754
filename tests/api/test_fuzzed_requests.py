"""Random requests never get a 500; `make fuzz` sends thirty times as many."""

from __future__ import annotations

import random

import pytest
from support.namespaces import random_word
from support.object_fuzzing import Fuzzer
from support.process import ServerProcess

COUNT = 1000  # in each dialect


@pytest.mark.both_dialects
def test_no_request_is_answered_with_a_500(any_server: ServerProcess) -> None:
    seed = random.randrange(2**32)
    client = any_server.client()
    fuzzer = Fuzzer(client, f"fuzz-{random_word()}", any_server.dialect, seed)
    tally = fuzzer.run(COUNT)
    client.close()
    assert not tally.failures, (seed, tally.failures[:5])
    assert min(tally.statuses[200], tally.statuses[400], tally.statuses[422]) > COUNT // 50
