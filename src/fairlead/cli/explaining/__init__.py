"""The parts of `fairlead explain`: schemas of a server, and how they are told."""
