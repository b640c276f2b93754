"""One module a command of the client side: `add_flags(parser)` and `async run(at)`."""
