"""Go templates.

- `syntax`, `parts`: a template as a tree; start here
- `renderer`: its text for a value, within limits
- `functions`: the functions of Go; users add their own
- `values`: what is true, how values are printed, `printf`
"""
