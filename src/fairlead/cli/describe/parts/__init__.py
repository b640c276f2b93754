"""Parts that the layouts of several kinds share."""
