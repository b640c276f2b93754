"""Tests of the console in a browser: a package, for a browser that lasts as long as its tests."""
