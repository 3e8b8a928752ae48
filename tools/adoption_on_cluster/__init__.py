"""A team with a history on a real cluster: adopted, installed, promoted, locked out and removed.

`python -m tools.adoption_on_cluster --chart CHART` needs a cluster without Kyverno that may be
changed, the chart of Kyverno's own project (a folder), `helm` and chartkit's extra `cluster`; it is
no part of the tests. `team/` has what the team installed by hand: the values of the release,
policies, an exception and workloads, some of which violate the policies. The story:

1. Helm installs Kyverno, and the API server gets the team's files;
2. `chartkit adopt --cluster`, whose rows announce what will be otherwise;
3. `chartkit install --take-ownership`: what is stored afterwards differs by nothing else, and
   `chartkit diff --against release` finds no difference;
4. `chartkit promote` holds a policy back until its last violation is repaired, and promotes it
   then: the API server denies what it only reported before;
5. Kyverno is killed: `chartkit rescue` opens the cluster and restores its webhooks;
6. `chartkit uninstall --crds`: the API server has the objects that it had before step 1.
"""
