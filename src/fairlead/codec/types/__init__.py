"""The one type model, the built-in types in our notation, and the walkers over them."""
