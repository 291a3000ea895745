-- Current facts and closed intervals live in tables of their own, so that no read can forget to leave out the past.
-- A walk meets dozens of facts, and each column costs it something for each of them. So what is not searched by is kept
-- as JSON, `told`: [summary, properties, chunks] of an edge, and of a node also its aliases and identifiers. `holds` says
-- where, when and how surely the fact holds: [scope, valid_from, valid_to, first_seen, last_seen, confirmations, sources,
-- confidence]. What statements compare SQLite itself takes out of it into columns, so that the two cannot differ; but no
-- index that holds such a column is taken to cover a read, so the scope, which walks look at, is a column like others.
CREATE TABLE IF NOT EXISTS node (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    label TEXT NOT NULL,
    name TEXT NOT NULL,
    name_keys TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope = holds ->> 0),
    confirmations INTEGER NOT NULL AS (holds ->> 5) STORED,
    valid_from TEXT NOT NULL AS (holds ->> 1) STORED,
    valid_to TEXT AS (holds ->> 2) STORED CHECK (valid_to IS NULL),
    last_seen TEXT NOT NULL AS (holds ->> 4) VIRTUAL,
    holds TEXT NOT NULL,
    told TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS node_named ON node (id, scope, tenant, label, name);
CREATE INDEX IF NOT EXISTS node_in_order ON node (tenant, confirmations DESC, name, id);
CREATE TABLE IF NOT EXISTS past_node (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    label TEXT NOT NULL,
    name TEXT NOT NULL,
    name_keys TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope = holds ->> 0),
    confirmations INTEGER NOT NULL AS (holds ->> 5) STORED,
    valid_from TEXT NOT NULL AS (holds ->> 1) STORED,
    valid_to TEXT NOT NULL AS (holds ->> 2) STORED,
    holds TEXT NOT NULL,
    told TEXT NOT NULL,
    embedding BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS past_node_of ON past_node (id);
CREATE INDEX IF NOT EXISTS past_node_in ON past_node (tenant);

-- The indexes of edges, and of names, cover a walk: a hop reads no row of the tables themselves.
CREATE TABLE IF NOT EXISTS edge (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    type TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    verb TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope = holds ->> 0),
    confirmations INTEGER NOT NULL AS (holds ->> 5) STORED,
    valid_from TEXT NOT NULL AS (holds ->> 1) STORED,
    valid_to TEXT AS (holds ->> 2) STORED CHECK (valid_to IS NULL),
    last_seen TEXT NOT NULL AS (holds ->> 4) VIRTUAL,
    holds TEXT NOT NULL,
    told TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS edge_from ON edge (source, type, scope, tenant, target);
CREATE INDEX IF NOT EXISTS edge_to ON edge (target, type, scope, tenant, source);
CREATE TABLE IF NOT EXISTS past_edge (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    type TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    verb TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope = holds ->> 0),
    confirmations INTEGER NOT NULL AS (holds ->> 5) STORED,
    valid_from TEXT NOT NULL AS (holds ->> 1) STORED,
    valid_to TEXT NOT NULL AS (holds ->> 2) STORED,
    holds TEXT NOT NULL,
    told TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS past_edge_from ON past_edge (source, type);
CREATE INDEX IF NOT EXISTS past_edge_to ON past_edge (target, type);

-- The space in which names, aliases and strong identifiers meet.
CREATE TABLE IF NOT EXISTS name_key (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    label TEXT NOT NULL,
    scope TEXT NOT NULL,
    node TEXT NOT NULL,
    PRIMARY KEY (tenant, key, label, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS name_key_of ON name_key (node);

-- Which current facts a source stands for, by their ids.
CREATE TABLE IF NOT EXISTS asserted (
    tenant TEXT NOT NULL,
    source TEXT NOT NULL,
    fact TEXT NOT NULL,
    PRIMARY KEY (tenant, source, fact)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS asserted_fact ON asserted (fact);

-- What was decided about the graph: merges, corrections, proposals.
CREATE TABLE IF NOT EXISTS record (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, kind, id)
) STRICT, WITHOUT ROWID;

-- Little-endian float32. Cells hold what lies together of one kind; what searches compare is one row for each of them:
-- its nodes, a line each, and in their order each vector in one signed byte a number, `codes`, and the lengths of these.
-- The generation counts a tenant's changes and the version a cell's, so that every process knows what it has is old.
CREATE TABLE IF NOT EXISTS vector (
    node TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    embedding BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS vector_of ON vector (tenant);
CREATE TABLE IF NOT EXISTS vector_cell (
    cell INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    label TEXT NOT NULL,
    scope TEXT NOT NULL,
    size INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0,
    centroid BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS vector_cell_of ON vector_cell (tenant, label, scope);
CREATE TABLE IF NOT EXISTS vector_codes (
    cell INTEGER PRIMARY KEY,
    nodes TEXT NOT NULL,
    lengths BLOB NOT NULL,
    codes BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS vector_place (node TEXT PRIMARY KEY, cell INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vector_generation (tenant TEXT PRIMARY KEY, generation INTEGER NOT NULL) STRICT;

CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;

-- Full text of current nodes, by kind.
CREATE VIRTUAL TABLE IF NOT EXISTS service_text USING fts5 (name, words, aliases, summary, tokenize = 'unicode61');
CREATE VIRTUAL TABLE IF NOT EXISTS page_text USING fts5 (name, words, aliases, summary, tokenize = 'unicode61');
CREATE VIRTUAL TABLE IF NOT EXISTS passage_text USING fts5 (name, words, aliases, summary, tokenize = 'unicode61');
CREATE VIRTUAL TABLE IF NOT EXISTS other_text USING fts5 (name, words, aliases, summary, tokenize = 'unicode61');
CREATE VIRTUAL TABLE IF NOT EXISTS past_node_text USING fts5 (name, words, aliases, summary, tokenize = 'unicode61');
