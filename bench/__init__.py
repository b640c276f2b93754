"""The load generator behind `make bench`."""
