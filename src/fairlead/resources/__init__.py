"""What is particular to each resource and kind: names, rules, defaults, columns."""
