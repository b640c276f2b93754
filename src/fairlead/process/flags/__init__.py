"""The command line of `fairlead serve`: `serve` defines the flags, `checks` validates them."""
