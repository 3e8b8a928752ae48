"""The evaluation of policies on objects: reads both, runs the engine, passes the results to the
reports."""
