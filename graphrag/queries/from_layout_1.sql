-- Layout 1 had no scopes, verbs, identifiers, chunks or records, named an edge by its three parts, and kept closed
-- facts as JSON alone. Its tables stand aside as `was_…` while the new ones are filled from them.
INSERT INTO node (row, id, tenant, label, name, name_keys, scope, holds, told) SELECT
    row, id, tenant, label, name, keys_of(name, aliases), 'world',
    json_array('world', valid_from, NULL, first_seen, last_seen, confirmations, json(sources), confidence),
    told(summary, properties, '[]', aliases, '[]')
FROM was_node;
INSERT INTO edge (id, tenant, type, source, target, verb, scope, holds, told) SELECT
    edge_id(type, source, target), tenant, type, source, target, '', 'world',
    json_array('world', valid_from, NULL, first_seen, last_seen, confirmations, json(sources), confidence),
    told(summary, properties, '[]')
FROM was_edge;
INSERT INTO past_node (row, id, tenant, label, name, name_keys, scope, holds, told) SELECT
    rowid, fact, tenant, body ->> 'label', body ->> 'name', keys_of(body ->> 'name', body ->> 'aliases'), 'world',
    json_array(
        'world', valid_from, valid_to, body ->> 'first_seen', body ->> 'last_seen', body ->> 'confirmations',
        json(body ->> 'sources'), body ->> 'confidence'
    ),
    told(body ->> 'summary', body ->> 'properties', '[]', body ->> 'aliases', '[]')
FROM was_past WHERE body ->> 'label' IS NOT NULL;
INSERT INTO past_node_text (rowid, name, words, aliases, summary)
SELECT rowid, body ->> 'name', words_of(body ->> 'name', body ->> 'aliases'), spaced(body ->> 'aliases'),
    body ->> 'summary'
FROM was_past WHERE body ->> 'label' IS NOT NULL;
INSERT INTO past_edge (id, tenant, type, source, target, verb, scope, holds, told) SELECT
    edge_id(body ->> 'type', body ->> 'source', body ->> 'target'), tenant, body ->> 'type', body ->> 'source',
    body ->> 'target', '', 'world',
    json_array(
        'world', valid_from, valid_to, body ->> 'first_seen', body ->> 'last_seen', body ->> 'confirmations',
        json(body ->> 'sources'), body ->> 'confidence'
    ),
    told(body ->> 'summary', body ->> 'properties', '[]')
FROM was_past WHERE body ->> 'type' IS NOT NULL;
INSERT INTO name_key SELECT tenant, key, label, 'world', node FROM was_name_key;
INSERT INTO asserted SELECT tenant, source, fact_id(fact) FROM was_asserted;
INSERT INTO vector_generation SELECT * FROM was_vector_generation;
INSERT INTO meta SELECT * FROM was_meta;
