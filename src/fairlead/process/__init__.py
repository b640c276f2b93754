"""Running a server: flags, assembly, lifecycle. May use everything but `cli` and `testing`.

- `lifecycle`: the entry point; from start to stop
- `flags/`: the command line of `fairlead serve`
- `assembly`, `handlers`, `controllers`, `stores`: wiring the parts together
- `certificates/`: the server's CA and certificates
- `data_directory`, `first_objects`, `authentication_config_map`: files and objects created at start
- `listeners`, `workers/`: sockets, and several processes on one store
- `backup/`: copying a whole store
- `banner`, `tasks`: startup message, background tasks
"""
