"""What every other package may use. Imports nothing of ours.

- `clock`: the server's time, which tests can move
- `errors`: Status errors, the one shape of every refusal
- `dialect`: the names and switches in which the two dialects differ
- `budget`: what one request may cost in time and memory; offloads long work to threads
- `caches`: bounded caches
- `logs`, `metrics`, `terminal`: what the process says
- `patterns`, `quotes`, `package_files`: patterns of clients, quoting, our own files
- `records`, `compiled`, `compilation`: dataclasses for a fast start, and mypyc
"""
