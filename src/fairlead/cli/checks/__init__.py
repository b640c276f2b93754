"""What `fairlead check` looks at. `fairlead.cli.check` runs it.

- `findings`: a finding, its weight, and how findings are printed
- `directory`: the files of a data directory: modes, certificates, leftovers, the disk
- `database`: the SQLite store in it: pages, checksums, lost writes, format
- `members`: etcd: members, alarms, sizes, and the values in it
- `server`: a running server: its health, its metrics, its certificates
- `objects`: the objects of any of them: what cannot be deleted, called, served or reached
"""
