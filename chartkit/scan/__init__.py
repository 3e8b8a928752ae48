"""Policies over objects: reads both, runs the engine, hands the results to the reports."""
