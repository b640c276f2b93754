"""Running a server: flags, assembly, lifecycle. May use everything but `cli` and `testing`.

- `lifecycle`: the entry point; from start to stop
- `flags/`: the command line of `fairlead serve`
- `assembly`, `handlers`, `controllers`, `stores`: wiring the parts together
- `certificates/`: the server's CA and certificates
- `data_directory`, `first_objects`, `authentication_config_map`: files and objects created at start
- `listeners`, `workers/`: sockets, and several processes on one store
- `service_manager`: the socket that systemd hands over, and what it is told
- `reloader`, `verbosity`: what SIGHUP reads again
- `backup/`: copying a whole store
- `banner`, `tasks`, `metrics`: startup message, background tasks, what operators watch
"""
