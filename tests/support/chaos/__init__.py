"""Servers under load from many sides while parts of them are killed, stopped and cut off."""
