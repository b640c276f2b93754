"""Shared test helpers: a server process, an HTTP client, and shortcuts to write objects."""
