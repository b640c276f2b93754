"""Schemas from the server and their text, for `fairlead explain`."""
