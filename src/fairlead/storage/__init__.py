"""The revisioned store: a log on disk or in etcd, and the watch cache. May use `codec` and `base`.

- `store`: the entry point; reads come from the cache, writes go to the log
- `writes`: checks a write against the newest version of its key; group commit
- `reads`: scans of the cache, and history that only the log has
- `log`, `backend`: the interfaces that `sqlite/`, `etcd/` and `workers/` implement
- `followed`: the log over a store that other processes write too
- `state`, `collection`, `selection`: the cache of all resources and of one; selectors, indexes
- `delivery`, `audience`: delivery of changes to followers and watchers, in order
- `version`, `body_metadata`: stored versions and changes between them; no other package searches
  the bytes of stored objects
- `derived_cache`: values computed from stored versions
- `encryption/`: encryption of values at rest
"""
