"""Measurements of the service against bare references in the same run. `make bench`, or `make bench ARGS=NAME` for one.

Nothing here passes or fails: lines of JSON go to standard output, progress to standard error. See docs/performance.md.
"""
