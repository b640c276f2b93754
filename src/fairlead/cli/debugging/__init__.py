"""Containers and pods for `debug`."""
