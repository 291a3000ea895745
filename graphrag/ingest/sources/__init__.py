"""Readers of what an organisation already writes down for its machines: one module a kind of source, each a pure
function from text to facts."""
