"""Thinking: the explicit loop from an incident to a report."""
