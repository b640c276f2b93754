"""The expression language of validation rules: parsing, type checks, cost, evaluation."""
