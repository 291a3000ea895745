-- Layout 1 had no scopes, verbs, identifiers, chunks or records, named an edge by its three parts, and kept closed
-- facts as JSON alone. Its tables stand aside as `was_…` while the new ones are filled from them.
INSERT INTO node SELECT
    row, id, tenant, 'world', label, name, summary, aliases, '[]', keys_of(name, aliases), properties, '[]',
    valid_from, NULL, first_seen, last_seen, confirmations, sources, confidence
FROM was_node;
INSERT INTO node_text (rowid, name, words, aliases, summary)
SELECT row, name, words_of(name, aliases), spaced(aliases), summary FROM node;
INSERT INTO edge (
    id, tenant, scope, type, verb, source, target, summary, properties, chunks,
    valid_from, valid_to, first_seen, last_seen, confirmations, sources, confidence
) SELECT
    edge_id(type, source, target), tenant, 'world', type, '', source, target, summary, properties, '[]',
    valid_from, NULL, first_seen, last_seen, confirmations, sources, confidence
FROM was_edge;
INSERT INTO past_node (
    id, tenant, scope, label, name, summary, aliases, identifiers, name_keys, properties, chunks,
    valid_from, valid_to, first_seen, last_seen, confirmations, sources, confidence
) SELECT
    fact, tenant, 'world', body ->> 'label', body ->> 'name', body ->> 'summary', body ->> 'aliases', '[]',
    keys_of(body ->> 'name', body ->> 'aliases'), body ->> 'properties', '[]',
    valid_from, valid_to, body ->> 'first_seen', body ->> 'last_seen', body ->> 'confirmations', body ->> 'sources',
    body ->> 'confidence'
FROM was_past WHERE body ->> 'label' IS NOT NULL;
INSERT INTO past_node_text (rowid, name, words, aliases, summary)
SELECT row, name, words_of(name, aliases), spaced(aliases), summary FROM past_node;
INSERT INTO past_edge (
    id, tenant, scope, type, verb, source, target, summary, properties, chunks,
    valid_from, valid_to, first_seen, last_seen, confirmations, sources, confidence
) SELECT
    edge_id(body ->> 'type', body ->> 'source', body ->> 'target'), tenant, 'world', body ->> 'type', '',
    body ->> 'source', body ->> 'target', body ->> 'summary', body ->> 'properties', '[]',
    valid_from, valid_to, body ->> 'first_seen', body ->> 'last_seen', body ->> 'confirmations', body ->> 'sources',
    body ->> 'confidence'
FROM was_past WHERE body ->> 'type' IS NOT NULL;
INSERT INTO name_key SELECT tenant, key, label, 'world', node FROM was_name_key;
INSERT INTO asserted SELECT tenant, source, fact_id(fact) FROM was_asserted;
INSERT INTO vector SELECT * FROM was_vector;
INSERT INTO vector_generation SELECT * FROM was_vector_generation;
INSERT INTO meta SELECT * FROM was_meta;
