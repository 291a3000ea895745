"""The one reader of the environment. Slices of this tree are passed down; nothing else looks at variables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from croniter import croniter
from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from connectors.mcp_servers import McpServer, parse_mcp_servers
from graphrag.label_keys import ToldKeys, plain_key
from graphrag.rank import Weights

PREFIX = "INCIDENT_GRAPH_"

Role = Literal["webhook", "reader", "agent", "admin"]


class Token(BaseModel):
    """A bearer token, what it may do, and whose data it sees. Two live at once for rotation."""

    token: SecretStr = Field(min_length=8)
    role: Role
    tenant: str = Field(default="default", min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")


class SettingsError(Exception):
    """The settings cannot work. The message has one sentence a mistake, each naming its variable."""


class Settings(BaseSettings):
    """Every setting with its default, which runs on a laptop."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", hide_input_in_errors=True)

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    data_dir: Path = Field(Path("data"), description="Folder for SQLite files, file reports and the first token.")
    database_url: str = Field(
        "", description="Incidents and durable work: `sqlite:///path` or `postgresql://…`. Empty: a file in DATA_DIR."
    )
    graph_url: str = Field(
        "",
        description="The graph: `sqlite:///path` or `neo4j://user:password@host:7687/database` (also `bolt://`). "
        "Empty: a file in DATA_DIR.",
    )
    tokens: Annotated[tuple[Token, ...], NoDecode] = Field(
        (),
        description='JSON list of `{"token", "role", "tenant"}`; roles are webhook, reader, agent, admin. '
        "Empty: one admin token is made and kept in DATA_DIR/token.",
    )
    slack_token: SecretStr = Field(SecretStr(""), description="Bot token. Empty: reports go to the console and files.")
    slack_base_url: str = Field("https://slack.com/api/", description="Slack's Web API, or a proxy of it.")
    slack_default_channel: str = Field(
        "#incidents", description="Channel for incidents whose owner team has no channel in the graph."
    )
    slack_signing_secret: SecretStr = Field(
        SecretStr(""), description="Checks requests from Slack; kept for its buttons and events."
    )
    mcp_servers: str = Field(
        "", description="The `mcpServers` JSON of other MCP clients, or a path to it. Empty: no live system is asked."
    )
    model_base_url: str = Field(
        "", description="Any OpenAI-compatible endpoint. Empty: the plan that needs no model does the work."
    )
    model_api_key: SecretStr = Field(SecretStr(""), description="Key for MODEL_BASE_URL.")
    model_name: str = Field("", description="The model's name at MODEL_BASE_URL.")
    ingest_with_model: bool = Field(
        True, description="Whether the model, if one is set, also reads pages and writes summaries during an ingest."
    )
    embedding: str = Field(
        "hashed",
        description="`hashed` (no download, no network), `openai:MODEL` at EMBEDDING_BASE_URL, or "
        "`module:Class` for any other LlamaIndex embedding.",
    )
    embedding_base_url: str = Field("", description="OpenAI-compatible endpoint for `openai:MODEL`.")
    embedding_api_key: SecretStr = Field(SecretStr(""), description="Key for EMBEDDING_BASE_URL.")
    embedding_dimensions: int = Field(384, ge=16, le=4096, description="Length of an embedding vector.")
    service_labels: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Keys of labels in which your alerts say whose service they are, besides those that everybody uses "
        "and those that are learnt: a JSON list or names with commas, such as `type,shop_unit`.",
    )
    team_labels: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Keys of labels in which your alerts name their team, in the same form."
    )
    rank_semantic: float = Field(0.1, ge=0, le=1, description="Weight of likeness of meaning when pages are ranked.")
    rank_text: float = Field(0.5, ge=0, le=1, description="Weight of shared words when pages are ranked.")
    rank_graph: float = Field(0.25, ge=0, le=1, description="Weight of nearness in the graph when pages are ranked.")
    rank_recent: float = Field(0.02, ge=0, le=1, description="Weight of how lately a page was seen.")
    rank_usage: float = Field(0.15, ge=0, le=1, description="Weight of how often such a page helped.")
    rank_confirm: float = Field(0.02, ge=0, le=1, description="Weight of how many runs of discovery saw a page.")
    tool_seconds: float = Field(15.0, gt=0, le=120, description="Deadline of one call to an MCP server, in seconds.")
    model_seconds: float = Field(40.0, gt=0, le=300, description="Deadline of one model turn, in seconds.")
    investigation_seconds: float = Field(90.0, gt=0, le=900, description="Wall time of one investigation, in seconds.")
    investigation_turns: int = Field(4, ge=1, le=20, description="Model turns of one investigation.")
    investigation_tokens: int = Field(60_000, ge=1000, description="Model tokens of one investigation.")
    concurrency: int = Field(8, ge=1, le=100, description="Investigations at once in one process.")
    max_body_bytes: int = Field(32 * 1024 * 1024, ge=1024, description="Largest webhook body, in bytes.")
    replica_id: str = Field(
        "", max_length=64, description="Name of this replica. Empty: a new one each start; others take over its work."
    )
    sync_schedule: str = Field(
        "0 3 * * *",
        description="When the graph is brought up to date, as five fields of cron in UTC. Empty: only when told.",
    )
    public_url: str = Field(
        "", description="Address people reach this service at; reports then link to their JSON. Empty: no links."
    )
    opik_url: str = Field("", description="Opik's API address, e.g. `http://localhost:5173/api`. Empty: no traces.")
    opik_api_key: SecretStr = Field(SecretStr(""), description="Key for OPIK_URL, where it needs one.")
    opik_workspace: str = Field("default", description="Opik workspace.")
    opik_project: str = Field("incident-graph", description="Opik project the traces go to.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")

    @field_validator("tokens", mode="before")
    @classmethod
    def _tokens_are_json(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            tokens: object = json.loads(value) if value.strip() else []
        except ValueError:
            raise ValueError('must be a JSON list such as [{"token": "…", "role": "webhook"}]') from None
        if not isinstance(tokens, list):
            raise ValueError('must be a JSON list such as [{"token": "…", "role": "webhook"}]')
        return tokens  # pyright: ignore[reportUnknownVariableType]

    @field_validator("service_labels", "team_labels", mode="before")
    @classmethod
    def _labels_are_a_list(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = value.strip()
        if not text.startswith("["):
            return [name.strip() for name in text.split(",") if name.strip()]
        try:
            return json.loads(text)
        except ValueError:
            raise ValueError('must be names with commas, or a JSON list such as ["type", "shop_unit"]') from None

    @field_validator("service_labels", "team_labels")
    @classmethod
    def _are_keys(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(not plain_key(name) for name in value):
            raise ValueError("has a name without a letter or digit")
        return value

    @field_validator("database_url", "graph_url")
    @classmethod
    def _is_url(cls, value: str, info: Any) -> str:
        schemes = {
            "database_url": ("sqlite", "postgresql"),
            "graph_url": ("sqlite", "neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"),
        }[info.field_name]
        if value and value.partition("://")[0].partition("+psycopg")[0] not in schemes:
            raise ValueError(f"must start with one of {', '.join(f'{scheme}://' for scheme in schemes)}")
        try:
            if value:
                make_url(value)
        except (ArgumentError, ValueError):
            raise ValueError("is not a URL that can be read; percent-encode special characters in it") from None
        return value

    @field_validator("sync_schedule")
    @classmethod
    def _is_cron(cls, value: str) -> str:
        if value and not croniter.is_valid(value, second_at_beginning=True):
            raise ValueError("must be five fields of cron, such as `0 3 * * *` for every night at three")
        return value

    @field_validator("slack_base_url", "model_base_url", "embedding_base_url", "opik_url", "public_url")
    @classmethod
    def _is_http(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("must start with http:// or https://")
        return value

    @field_validator("mcp_servers")
    @classmethod
    def _servers_parse(cls, value: str) -> str:
        if value.strip():
            parse_mcp_servers(value)
        return value

    @model_validator(mode="after")
    def _goes_together(self) -> Settings:
        both = {plain_key(name) for name in self.service_labels} & {plain_key(name) for name in self.team_labels}
        if both:
            raise ValueError(f"{PREFIX}SERVICE_LABELS and {PREFIX}TEAM_LABELS must not name the same label")
        if bool(self.model_base_url) != bool(self.model_name):
            raise ValueError(f"{PREFIX}MODEL_BASE_URL and {PREFIX}MODEL_NAME must be set together")
        return self

    @property
    def servers(self) -> tuple[McpServer, ...]:
        return parse_mcp_servers(self.mcp_servers) if self.mcp_servers.strip() else ()

    @property
    def told_keys(self) -> ToldKeys:
        return ToldKeys(self.service_labels, self.team_labels)

    @property
    def rank_weights(self) -> Weights:
        return Weights(
            semantic=self.rank_semantic,
            text=self.rank_text,
            graph=self.rank_graph,
            recent=self.rank_recent,
            usage=self.rank_usage,
            confirm=self.rank_confirm,
        )

    @property
    def app_database(self) -> str:
        """The SQLAlchemy URL of the app's tables and the durable work."""
        url = self.database_url or f"sqlite:///{self.data_dir.absolute() / 'incidents.sqlite'}"
        return url.replace("postgresql://", "postgresql+psycopg://", 1)

    @property
    def graph_database(self) -> str:
        return self.graph_url or f"sqlite:///{self.data_dir.absolute() / 'graph.sqlite'}"


def load_settings(**overrides: Any) -> Settings:
    """The settings of the environment, with overrides. Raises `SettingsError` with a sentence a mistake."""
    try:
        return Settings(**overrides)
    except ValidationError as error:
        raise SettingsError("\n".join(_sentence(each) for each in error.errors(include_url=False))) from None


def _sentence(mistake: Any) -> str:
    """A validation error as a sentence that names the variable and never shows the value."""
    message = str(mistake["msg"]).removeprefix("Value error, ")
    if not mistake["loc"]:
        return f"{message}."
    variable = PREFIX + str(mistake["loc"][0]).upper()
    inner = ".".join(str(part) for part in mistake["loc"][1:])
    return f"{variable}{f' ({inner})' if inner else ''}: {message[0].lower()}{message[1:].rstrip('.')}."
