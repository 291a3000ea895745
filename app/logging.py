"""Structured logs: one JSON object a line on standard error, secrets redacted. Bodies and headers are never logged."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

from agent.redact import redact


def configure_logging(level: str) -> None:
    """Set up logging for the process; third parties' loggers go through the same door."""
    processors: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _redacted,
    ]
    structlog.configure(
        processors=[*processors, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=processors,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for noisy in ("httpx", "httpcore", "neo4j", "openai", "uvicorn.access", "dbos"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # Its tracebacks tell of servers that died, which the fleet reports as evidence that could not be had.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)


def _redacted(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return {key: redact(value) if isinstance(value, str) else value for key, value in event.items()}
