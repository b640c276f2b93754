"""One module a plugin."""
