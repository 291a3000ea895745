"""Builds the graph from an organisation's own files and keeps it true."""

from graphrag.ingest.exclusive import AlreadyRunning
from graphrag.ingest.ledger import known_places
from graphrag.ingest.record import last_run
from graphrag.ingest.report import IngestReport, Progress, Tell
from graphrag.ingest.run import Embedder, ingest

__all__ = ["AlreadyRunning", "Embedder", "IngestReport", "Progress", "Tell", "ingest", "known_places", "last_run"]
