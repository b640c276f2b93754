"""The embedded log: one SQLite file in WAL mode in a data directory of its own.

- `log`: the log that the store works on
- `backend`: commits and reads; `history`: older states
- `directory`, `files`, `format`, `loader`, `read_only`: the directory and the file in it
"""
