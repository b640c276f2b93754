"""One embedded log shared by several processes of a server: the owner and its followers."""
