"""The revisioned store: a log on disk or in etcd, and the watch cache. May use `codec` and `base`.

- `store`: the entry point; reads come from the cache, writes go to the log
- `writes`: checks a write against the newest version of its key; group commit
- `log`, `backend`: the interfaces that `sqlite/`, `etcd/` and `workers/` implement
- `collection`, `indexes`, `selection`, `scans`: the cache of one resource, and reads by selector
- `audience`, `delivery`, `followers`: delivery of changes to watchers and followers, in order
- `version`, `body_metadata`: stored versions; nobody else searches the bytes of stored objects
- `change`, `history`: changes between versions, bounds on the history
- `encryption/`: encryption of values at rest
"""
