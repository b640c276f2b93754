"""The command line of `fairlead serve`: `serve` has all flags, `checks` looks at them all."""
