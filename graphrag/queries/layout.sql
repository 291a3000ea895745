-- Current facts and closed intervals live in tables of their own, so that no read can forget to leave out the past.
CREATE TABLE node (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    scope TEXT NOT NULL,
    label TEXT NOT NULL,
    name TEXT NOT NULL,
    summary TEXT NOT NULL,
    aliases TEXT NOT NULL,
    identifiers TEXT NOT NULL,
    name_keys TEXT NOT NULL,
    properties TEXT NOT NULL,
    chunks TEXT NOT NULL,
    valid_from TEXT NOT NULL,
    valid_to TEXT CHECK (valid_to IS NULL),
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    confirmations INTEGER NOT NULL,
    sources TEXT NOT NULL,
    confidence REAL NOT NULL
) STRICT;
CREATE INDEX node_in_order ON node (tenant, confirmations DESC, name, id);
CREATE TABLE past_node (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    scope TEXT NOT NULL,
    label TEXT NOT NULL,
    name TEXT NOT NULL,
    summary TEXT NOT NULL,
    aliases TEXT NOT NULL,
    identifiers TEXT NOT NULL,
    name_keys TEXT NOT NULL,
    properties TEXT NOT NULL,
    chunks TEXT NOT NULL,
    valid_from TEXT NOT NULL,
    valid_to TEXT NOT NULL,
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    confirmations INTEGER NOT NULL,
    sources TEXT NOT NULL,
    confidence REAL NOT NULL,
    embedding BLOB
) STRICT;
CREATE INDEX past_node_of ON past_node (id);
CREATE INDEX past_node_in ON past_node (tenant);

-- The indexes of edges cover a walk: a hop reads no row of the table itself.
CREATE TABLE edge (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    scope TEXT NOT NULL,
    type TEXT NOT NULL,
    verb TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    summary TEXT NOT NULL,
    properties TEXT NOT NULL,
    chunks TEXT NOT NULL,
    valid_from TEXT NOT NULL,
    valid_to TEXT CHECK (valid_to IS NULL),
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    confirmations INTEGER NOT NULL,
    sources TEXT NOT NULL,
    confidence REAL NOT NULL
) STRICT;
CREATE INDEX edge_from ON edge (source, type, scope, tenant, target);
CREATE INDEX edge_to ON edge (target, type, scope, tenant, source);
CREATE TABLE past_edge (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    scope TEXT NOT NULL,
    type TEXT NOT NULL,
    verb TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    summary TEXT NOT NULL,
    properties TEXT NOT NULL,
    chunks TEXT NOT NULL,
    valid_from TEXT NOT NULL,
    valid_to TEXT NOT NULL,
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    confirmations INTEGER NOT NULL,
    sources TEXT NOT NULL,
    confidence REAL NOT NULL
) STRICT;
CREATE INDEX past_edge_from ON past_edge (source, type);
CREATE INDEX past_edge_to ON past_edge (target, type);

-- The space in which names, aliases and strong identifiers meet.
CREATE TABLE name_key (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    label TEXT NOT NULL,
    scope TEXT NOT NULL,
    node TEXT NOT NULL,
    PRIMARY KEY (tenant, key, label, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX name_key_of ON name_key (node);

-- Which current facts a source stands for, by their ids.
CREATE TABLE asserted (
    tenant TEXT NOT NULL,
    source TEXT NOT NULL,
    fact TEXT NOT NULL,
    PRIMARY KEY (tenant, source, fact)
) STRICT, WITHOUT ROWID;
CREATE INDEX asserted_fact ON asserted (fact);

-- What was decided about the graph: merges, corrections, proposals.
CREATE TABLE record (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, kind, id)
) STRICT, WITHOUT ROWID;

-- Little-endian float32. Cells hold what lies together of one kind, `code` is a vector in one signed byte a number.
-- The generation counts a tenant's changes and the version a cell's, so that every process knows what it has is old.
CREATE TABLE vector (
    node TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    embedding BLOB NOT NULL
) STRICT;
CREATE INDEX vector_of ON vector (tenant);
CREATE TABLE vector_cell (
    cell INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    label TEXT NOT NULL,
    scope TEXT NOT NULL,
    size INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0,
    centroid BLOB NOT NULL
) STRICT;
CREATE INDEX vector_cell_of ON vector_cell (tenant, label, scope);
CREATE TABLE vector_code (
    cell INTEGER NOT NULL,
    node TEXT NOT NULL,
    code BLOB NOT NULL,
    PRIMARY KEY (cell, node)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX vector_code_of ON vector_code (node);
CREATE TABLE vector_generation (tenant TEXT PRIMARY KEY, generation INTEGER NOT NULL) STRICT;

CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;

-- Full text of current nodes, by kind.
CREATE VIRTUAL TABLE service_text USING fts5 (name, words, aliases, summary, tokenize = 'unicode61');
CREATE VIRTUAL TABLE page_text USING fts5 (name, words, aliases, summary, tokenize = 'unicode61');
CREATE VIRTUAL TABLE passage_text USING fts5 (name, words, aliases, summary, tokenize = 'unicode61');
CREATE VIRTUAL TABLE other_text USING fts5 (name, words, aliases, summary, tokenize = 'unicode61');
CREATE VIRTUAL TABLE past_node_text USING fts5 (name, words, aliases, summary, tokenize = 'unicode61');
