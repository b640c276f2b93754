"""The embedded log: one SQLite file in WAL mode in its own data directory.

- `log`: the log under the store
- `backend`: commits and current rows; `history`: older states
- `directory`, `format`, `loader`, `read_only`: the directory and the database file
- `migration`: converts files of other formats
"""
