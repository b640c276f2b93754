"""Objects as they are and as they would be, side by side."""
