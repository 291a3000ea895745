"""Knowing: the graph of production, its stores, and how an alert finds its place in it."""
