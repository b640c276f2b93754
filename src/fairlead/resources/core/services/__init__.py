"""Services: their rules, and the addresses and ports they are given."""
