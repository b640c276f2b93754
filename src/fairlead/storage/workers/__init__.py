"""Several processes of one server on one embedded log: its owner, and those who follow it."""
