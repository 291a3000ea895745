# prometheus-mcp-server in an environment of its own: its pins would clash with the service's.
FROM python:3.11-slim-bookworm
RUN pip install --no-cache-dir prometheus-mcp-server==1.6.2
USER 10001
EXPOSE 8081
ENTRYPOINT ["prometheus-mcp-server"]
