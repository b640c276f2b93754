"""Keys and values in the reference's layout, so that both servers can use the same store."""
