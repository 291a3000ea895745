-- Layout 2 kept what is told of a fact in a column for each part. Rows keep their numbers, which the full text knows.
INSERT INTO node (row, id, tenant, label, name, name_keys, scope, holds, told) SELECT
    row, id, tenant, label, name, name_keys, scope,
    json_array(scope, valid_from, valid_to, first_seen, last_seen, confirmations, json(sources), confidence),
    told(summary, properties, chunks, aliases, identifiers)
FROM was_node;
INSERT INTO past_node (row, id, tenant, label, name, name_keys, scope, holds, told, embedding) SELECT
    row, id, tenant, label, name, name_keys, scope,
    json_array(scope, valid_from, valid_to, first_seen, last_seen, confirmations, json(sources), confidence),
    told(summary, properties, chunks, aliases, identifiers), embedding
FROM was_past_node;
INSERT INTO edge (row, id, tenant, type, source, target, verb, scope, holds, told) SELECT
    row, id, tenant, type, source, target, verb, scope,
    json_array(scope, valid_from, valid_to, first_seen, last_seen, confirmations, json(sources), confidence),
    told(summary, properties, chunks)
FROM was_edge;
INSERT INTO past_edge (row, id, tenant, type, source, target, verb, scope, holds, told) SELECT
    row, id, tenant, type, source, target, verb, scope,
    json_array(scope, valid_from, valid_to, first_seen, last_seen, confirmations, json(sources), confidence),
    told(summary, properties, chunks)
FROM was_past_edge;
