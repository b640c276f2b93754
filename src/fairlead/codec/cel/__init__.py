"""CEL, the expression language of validation rules and policies.

- `compile`: enter here; `compile_expression` makes a `Program` that can be evaluated
- `environment`: the functions and rules of a release, from `libraries.table`
- `lexer`, `parser`, `literals`, `syntax`: from text to a tree
- `checker`, `unification`, `declarations`, `types`, `constants`: types, and constants that fail
- `builder`, `calls`, `loops`, `code`, `functions`: from a tree to closures
- `costs`; `estimate`, `sized_estimate`, `ranges`: actual and estimated costs
- `values`, `data`, `equality`, `conversions`, `arithmetic`, `timestamps`: values
- `lists`, `strings`, `regexes`, `urls`: the libraries of all releases
- `library`: the form of later libraries: `optionals`, `quantities`, `formatting`, `sets`
- `addresses`, `named_formats`, `versions`, `sequences`: more of them
"""
