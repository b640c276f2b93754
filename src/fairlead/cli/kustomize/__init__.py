"""Kustomizations: `-k FOLDER` and `fairlead kustomize FOLDER`.

Start with `build.build`. A build goes through these modules:

- `definition`, `files`: the kustomization file, and the other files; only local ones, and of
  bounded size
- `identity`, `resources`: objects and what they were called before; selectors
- `generators`: ConfigMaps and Secrets, and the hashes in their names
- `patches`, `merging`, `schemas`: patches
- `transformations`, `fields`, `rules` and `rules.table`: names, labels, images, and in which fields
  they are
- `plugins`: generators and transformers in files of their own
- `references`: names in other objects
- `replacements`, `variables`: values in other objects
"""
