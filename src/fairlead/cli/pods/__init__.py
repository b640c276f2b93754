"""Chooses pods and containers, and connects them with this terminal and with files."""
