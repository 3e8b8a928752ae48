"""The admission server of `chartkit serve`: reviews over HTTPS, judged by the engine.

Policies come through a port (`served.Served`), which the command line fills from files or a
cluster.
"""
