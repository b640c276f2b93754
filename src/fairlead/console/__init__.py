"""The web console: its files, and how people sign in to it."""

PATH = "/console"
