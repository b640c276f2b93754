"""Memory that goes back to the system is had again when it is needed."""

from __future__ import annotations

import json
import subprocess
import sys

from fairlead.process.memory import Mapping, clean_mappings

_LISTING = """\
1000-3000 r--p 00000000 08:01 77                         /usr/lib/a library.so
Rss:                   8 kB
Anonymous:             0 kB
3000-5000 r-xp 00002000 08:01 77                         /usr/lib/a library.so
Anonymous:             0 kB
5000-6000 r--p 00004000 08:01 77                         /usr/lib/a library.so
Anonymous:             4 kB
6000-7000 rw-p 00005000 08:01 77                         /usr/lib/a library.so
Anonymous:             0 kB
7000-9000 rw-p 00000000 00:00 0                          [heap]
Anonymous:             8 kB
9000-a000 r-xp 00000000 00:00 0                          [vdso]
Anonymous:             0 kB
a000-b000 r--s 00000000 00:01 9                          /dev/shm/shared
Anonymous:             0 kB
b000-c000 r--p 00000000 00:00 0
Anonymous:             0 kB
"""


def test_only_pages_that_are_as_in_their_file_are_given_back() -> None:
    assert list(clean_mappings(_LISTING)) == [Mapping(0x1000, 0x2000), Mapping(0x3000, 0x2000)]


def test_a_process_is_smaller_afterwards_and_works_on() -> None:
    program = """
import json, sqlite3, ssl
import orjson
from fairlead.process.memory import give_back_freed, give_back_libraries

def resident():
    return int(open("/proc/self/statm").read().split()[1])

context = ssl.create_default_context()
before = resident()
give_back_freed()
give_back_libraries()
after = resident()
again = sqlite3.connect(":memory:").execute("select 6 * 7").fetchone()[0]
works = bool(ssl.create_default_context().get_ciphers())
print(json.dumps([before, after, again, orjson.loads(b"[1]"), works]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    before, after, *answers = json.loads(done.stdout)
    assert after < before
    assert answers == [42, [1], True]
