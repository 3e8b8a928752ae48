"""Converted policies on a real cluster, next to their originals and in their place.

`python -m tools.migration_on_cluster --help`. It needs a cluster that may be changed, with Kyverno
and its exceptions turned on, and is no part of the tests. `cases/` has the policies, each with
objects that are there before it, requests, and steps that generate or delete something. Three
rounds are compared:

- the originals alone;
- both forms, the validating policies in Audit (a policy that mutates or generates must not run
  in both forms);
- the new policies alone, after the originals were deleted.

Compared are the answers to requests (admitted or denied, the message, the object as it would be
stored), what is generated, and what reports say; and what was generated before the switch must be
there after it, the same objects.
"""
