"""What the layouts of several kinds share: each part is drawn in one place."""
