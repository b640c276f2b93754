"""Runs the commands of simulated containers: no program is executed, no file leaves this process.

- `process`: what a program may do: read, write, wait, exit
- `files`: the files of a container, with its volumes
- `shell`, and the `shell_...` modules and `expansion` that it is made of: `sh -c`
- `programs`, `file_programs`, `line_programs`, `archives`: the programs that every container has
- `scripted`: the programs of a script
- `sources`: the objects that environment and mounted files come from
- `commands`: what the command of a container prints, and when it ends
- `instances`, `terminal`: commands that clients run in containers
"""
