"""Measures on real organisations what the service finds: `python -m evals convert|score|run`."""
