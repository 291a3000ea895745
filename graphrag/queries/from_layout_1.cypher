// What brings the data of an older layout forward. Layout 1 had no scopes, verbs, identifiers, chunks or records, and
// kept closed facts as JSON in nodes `__Past__`.

// name: old_nodes
MATCH (n:__Entity__) WHERE n.scope IS NULL
CALL (n) { SET n.scope = 'world', n.identifiers = [], n.chunks = [] } IN TRANSACTIONS OF 1000 ROWS

// name: old_edges
MATCH (a:__Entity__)-[r]->(b) WHERE r.id IS NULL
RETURN elementId(r) AS at, type(r) AS type, a.id AS source, b.id AS target LIMIT $limit

// name: name_edges
UNWIND $rows AS row
MATCH ()-[r]->() WHERE elementId(r) = row.at
SET r.id = row.id, r.scope = 'world', r.chunks = []

// name: old_past
MATCH (p:__Past__) RETURN elementId(p) AS at, p {.*} AS past LIMIT $limit

// name: renew_past_nodes
UNWIND $rows AS row
MATCH (p) WHERE elementId(p) = row.at
REMOVE p:__Past__ SET p:__PastNode__, p = row.past

// name: renew_past_edges
UNWIND $rows AS row
MATCH (p) WHERE elementId(p) = row.at
REMOVE p:__Past__ SET p:__PastEdge__, p = row.past
