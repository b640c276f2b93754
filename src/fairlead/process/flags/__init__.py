"""The command line of `fairlead serve`: `serve` defines the flags, with `storage` and
`simulation`; `checks` validates them."""
