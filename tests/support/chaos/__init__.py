"""Servers under concurrent load while parts of them are killed, stopped and disconnected."""
