"""The fields of an object that made an expression false: traced again, once it has failed.

Every value has its provenance (`datum.py`): the path in the object where it stands, or the reads
that it was made of. `planner.py` makes closures of an expression's tree that compute both;
`junctions.py` and `folds.py` say which operands and which elements decided. What an expression asks
of the world is not asked twice where that could have an effect (`calls.py`): its value is then
unknown, and nothing that depends on it is reported.

The room imports the language alone, and nothing of it is loaded before an expression fails.
"""
