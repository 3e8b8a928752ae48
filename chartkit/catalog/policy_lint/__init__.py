"""The rules of `chartkit policies lint`: mistakes that Kyverno accepts, one module a rule.

`rule.py` has the base class and the subject that a rule is given, `levels.py` the levels that a
project sets, `rules/` the rules.
"""
