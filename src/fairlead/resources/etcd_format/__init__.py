"""Keys and values as the reference lays them out, so that both can use the same store."""
