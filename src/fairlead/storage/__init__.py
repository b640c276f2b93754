"""The revisioned store: a log on disk or in etcd, and the watch cache. May use `codec` and `base`.

- `store`: where to enter; reads come from the cache, writes go to the log
- `writes`: one write over the newest version, and group commit
- `log`, `backend`: the interface that `sqlite/`, `etcd/` and `workers/` implement
- `collection`, `indexes`, `selection`: the cache of one resource, and selectors over it
- `audience`, `delivery`, `followers`: who hears of a change, and in which order
- `version`, `change`, `history`: what is stored, and what happened to it
- `encryption/`: values under keys
"""
