"""Running a server: flags, assembly, lifecycle. May use everything but `cli` and `testing`.

- `lifecycle`: where to enter; from start to stop
- `flags/`: the command line of `fairlead serve`
- `assembly`, `handlers`, `controllers`, `stores`: putting the parts together
- `certificates/`: the server's CA and certificates
- `data_directory`, `first_objects`, `authentication_config_map`: what a server writes at its start
- `listeners`, `workers/`: sockets, and several processes on one store
- `backup/`: copying a whole store
- `banner`, `tasks`, `memory`, `encryption`: what is left
"""
