"""Requests, output and watches of `fairlead get`."""
