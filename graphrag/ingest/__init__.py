"""Builds the graph from an organisation's own files."""

from graphrag.ingest.run import Embedder, IngestReport, ingest

__all__ = ["Embedder", "IngestReport", "ingest"]
