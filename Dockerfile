# Two stages: uv builds the environment, the image that runs holds only Python and that environment.
FROM python:3.11-slim-bookworm AS build
RUN pip install --no-cache-dir uv==0.13.9
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=/opt/incident-graph
WORKDIR /src
# The dependencies first: a change of our code leaves this layer as it is.
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev --no-install-project --no-cache
COPY README.md LICENSE ./
COPY app ./app
COPY agent ./agent
COPY graphrag ./graphrag
COPY connectors ./connectors
RUN uv sync --frozen --no-dev --no-editable --no-cache

FROM python:3.11-slim-bookworm
RUN useradd --uid 10001 --no-log-init --create-home --home-dir /var/lib/incident-graph --shell /usr/sbin/nologin incident-graph
COPY --from=build /opt/incident-graph /opt/incident-graph
ENV PATH=/opt/incident-graph/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    INCIDENT_GRAPH_HOST=0.0.0.0 \
    INCIDENT_GRAPH_PORT=8080 \
    INCIDENT_GRAPH_DATA_DIR=/var/lib/incident-graph
USER 10001
WORKDIR /var/lib/incident-graph
VOLUME ["/var/lib/incident-graph"]
EXPOSE 8080
# The image has no curl. /healthz answers while the process lives; whether it can work is /readyz.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import http.client as h, os, sys; c = h.HTTPConnection('127.0.0.1', int(os.environ['INCIDENT_GRAPH_PORT']), timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["incident-graph"]
CMD ["serve"]
