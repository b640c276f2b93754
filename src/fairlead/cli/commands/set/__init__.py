"""Commands that set one property of objects."""
