"""Utilities for every other package. Imports no other package of fairlead.

- `clock`: the server's time, which tests can move
- `errors`, `reasons`: Status errors, the one format of every refused request
- `dialect`: the names and switches in which the two dialects differ
- `budget`, `meter`: limits of CPU time and memory per request; offloads long work to threads
- `waiting`: work in steps that mostly need not wait
- `slices`, `backlog`: long work in slices, so that other work gets the event loop in between
- `caches`: bounded caches
- `election`: leader election with a Lease, over any access to it
- `logs`, `metrics`, `terminal`: output of the process
- `patterns`, `quotes`, `digits`: regular expressions of clients, quoting, numbers in texts
- `files`: data files of the package, and files that a running server reads again
- `lazy`: the modules that are loaded when they are first used
- `compiled`: whether the modules are compiled by mypyc
"""
