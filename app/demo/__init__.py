"""The demonstration: a sample organisation and a server that plays its live systems."""
