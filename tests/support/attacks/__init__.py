"""Inputs that try to hold a server's event loop or fill its memory.

`families` says what can be sent, as functions of a few numbers; `target` sends it to a server, as a
user who has all rights in one namespace and none outside, and measures what that does to others.
`tools/attack.py` searches for the worst numbers, `tests/attacks/test_budgets.py` repeats the worst
that were found.
"""
