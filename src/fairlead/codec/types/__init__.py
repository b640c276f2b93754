"""The type model, the built-in types in a notation of our own, and the walkers over types."""
