-- Current facts and closed intervals live in tables of their own, so that no read can forget to leave out the past.
CREATE TABLE node (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    label TEXT NOT NULL,
    name TEXT NOT NULL,
    summary TEXT NOT NULL,
    aliases TEXT NOT NULL,
    properties TEXT NOT NULL,
    valid_from TEXT NOT NULL,
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    confirmations INTEGER NOT NULL,
    sources TEXT NOT NULL,
    confidence REAL NOT NULL
) STRICT;
CREATE INDEX node_in_order ON node (tenant, confirmations DESC, name, id);

CREATE TABLE edge (
    source TEXT NOT NULL,
    type TEXT NOT NULL,
    target TEXT NOT NULL,
    tenant TEXT NOT NULL,
    summary TEXT NOT NULL,
    properties TEXT NOT NULL,
    valid_from TEXT NOT NULL,
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    confirmations INTEGER NOT NULL,
    sources TEXT NOT NULL,
    confidence REAL NOT NULL,
    PRIMARY KEY (source, type, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_to ON edge (target, type);

-- The space in which names and aliases meet.
CREATE TABLE name_key (
    tenant TEXT NOT NULL,
    label TEXT NOT NULL,
    key TEXT NOT NULL,
    node TEXT NOT NULL,
    PRIMARY KEY (tenant, label, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX name_key_of ON name_key (node);

-- Which current facts a source stands for: `fact` is a node id, or `source type target` of an edge.
CREATE TABLE asserted (
    tenant TEXT NOT NULL,
    source TEXT NOT NULL,
    fact TEXT NOT NULL,
    PRIMARY KEY (tenant, source, fact)
) STRICT, WITHOUT ROWID;
CREATE INDEX asserted_fact ON asserted (fact);

CREATE TABLE past (
    row INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    fact TEXT NOT NULL,
    valid_from TEXT NOT NULL,
    valid_to TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX past_of ON past (tenant, fact);

-- Little-endian float32. The generation counts changes, so that every process knows when its copy is old.
CREATE TABLE vector (
    node TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    embedding BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX vector_of ON vector (tenant);
CREATE TABLE vector_generation (tenant TEXT PRIMARY KEY, generation INTEGER NOT NULL) STRICT;

CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;

CREATE VIRTUAL TABLE node_text USING fts5 (name, words, aliases, summary, tokenize = 'unicode61');
