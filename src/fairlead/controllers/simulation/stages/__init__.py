"""Stages in the manner of kwok: a match, a delay and a change, for objects of any kind.

- `controller`: enter here; follows the Stage objects and the objects of the kinds that they name
- `definitions`: a Stage object compiled, or what is wrong with it
- `selection`, `delays`: which stage an object is in, and when it is played
- `actions`: what a stage does to an object
- `expressions`: values of an object by `jq_syntax`, `jq_functions` or CEL
- `template_functions`: functions of Go templates (`codec/go_template`)
- `files`: Stage objects from files
"""
