"""Benchmarks; `make bench` runs them all, `bench/README.md` keeps the figures."""
