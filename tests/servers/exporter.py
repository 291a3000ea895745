"""A target for Prometheus whose numbers a test sets."""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Exporter:
    """Serves gauges at `http://{address}/metrics`; what was set last is what the next scrape sees."""

    def __init__(self) -> None:
        self.address = ""
        self._lock = threading.Lock()
        self._samples: dict[str, float] = {}

    def set(self, metric: str, value: float, labels: Mapping[str, str] | None = None) -> None:
        """Sets one sample, for example `set("errors_ratio", 0.2, {"service": "checkout"})`."""
        with self._lock:
            self._samples[_series(metric, labels)] = value

    def remove(self, metric: str, labels: Mapping[str, str] | None = None) -> None:
        """Takes one sample away, as if its source were gone."""
        with self._lock:
            self._samples.pop(_series(metric, labels), None)

    def text(self) -> str:
        """All samples in Prometheus' text format."""
        with self._lock:
            return "".join(f"{series} {value}\n" for series, value in self._samples.items())


@contextlib.contextmanager
def metrics_exporter() -> Iterator[Exporter]:
    """Runs an exporter on a free port in a thread of this process."""
    exporter = Exporter()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = exporter.text().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        exporter.address = f"127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield exporter
        finally:
            server.shutdown()
            thread.join()


def _series(metric: str, labels: Mapping[str, str] | None) -> str:
    def quoted(value: str) -> str:
        return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')

    inside = ",".join(f'{name}="{quoted(value)}"' for name, value in sorted((labels or {}).items()))
    return f"{metric}{{{inside}}}" if inside else metric
