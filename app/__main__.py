"""`python -m app` is the command `incident-graph`."""

from app.cli import main

main()
