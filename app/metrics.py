"""What the service counts about itself. No label carries a name from an organisation's data."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram


class Metrics:
    """One set of counters an app; a registry of its own keeps apps in one process apart."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.deliveries = Counter(
            "incident_graph_deliveries", "Webhook deliveries by decision.", ["action"], registry=self.registry
        )
        self.investigations = Counter(
            "incident_graph_investigations",
            "Investigations that ended, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.tool_calls = Counter(
            "incident_graph_tool_calls", "Calls to MCP servers, by result.", ["result"], registry=self.registry
        )
        self.posts = Counter(
            "incident_graph_posts", "Messages sent to the sink, by result.", ["result"], registry=self.registry
        )
        self.seconds = Histogram(
            "incident_graph_investigation_seconds",
            "Wall time of an investigation, in seconds.",
            buckets=(0.1, 0.3, 1, 3, 10, 30, 90, 300),
            registry=self.registry,
        )
