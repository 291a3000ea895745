"""The service: what comes in from people and machines, and what goes out to them."""
