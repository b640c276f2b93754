"""Inputs that try to block a server's event loop or fill its memory.

`families` defines the inputs as functions of a few numbers. `target` sends them to a server, as a
user with all rights in one namespace and none outside, and measures the effect on other users.
`tools/attack.py` searches for the worst numbers; `tests/attacks/test_budgets.py` repeats the worst
ones found.
"""
