"""Reaching out: MCP servers, Slack and Alertmanager, translated at the edge into our own types and errors."""
