"""One module per client command, with `add_flags(parser)` and `async run(at)`."""
