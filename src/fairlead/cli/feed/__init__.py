"""Live changes of many kinds, for `fairlead watch`."""
