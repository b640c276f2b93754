"""The parts of `fairlead watch`: changes of many kinds, and how they are told."""
