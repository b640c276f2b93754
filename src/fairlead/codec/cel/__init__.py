"""CEL, the expression language of validation rules: parser, type checker, costs, evaluation."""
