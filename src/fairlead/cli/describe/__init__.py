"""Text pages of `describe`, with one module per group of kinds."""
