"""Field ownership: which manager owns which fields."""
