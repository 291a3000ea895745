// name: nodes
UNWIND $ids AS id
MATCH (n:__Node__ {id: id}) WHERE n.tenant = $tenant
RETURN n {.*, embedding: null} AS node, labels(n) AS labels

// name: all_nodes
MATCH (n:__Entity__ {tenant: $tenant})
RETURN n {.*, embedding: null} AS node, labels(n) AS labels

// name: resolve
UNWIND $names AS name
MATCH (k:__Name__ {id: name.id}) WHERE k.tenant = $tenant
MATCH (n:__Node__ {id: k.owner})
RETURN name.key AS key, n {.*, embedding: null} AS node, labels(n) AS labels
ORDER BY n.confirmations DESC, n.name, n.id

// The index's own scores are quantised: what is kept is ranked again by the exact cosine.

// name: search_vectors
CALL db.index.vector.queryNodes('entity', $fetch, $vector) YIELD node AS n
WITH n, n.tenant = $tenant AND any(l IN labels(n) WHERE l IN $labels) AS wanted
WITH n, wanted, CASE WHEN wanted THEN 2 * vector.similarity.cosine(n.embedding, $vector) - 1 ELSE -2 END AS score
RETURN CASE WHEN wanted THEN n {.*, embedding: null} END AS node, labels(n) AS labels, score
ORDER BY score DESC, n.id

// name: scan_vectors
MATCH (n:__Entity__ {tenant: $tenant})
WHERE n.embedding IS NOT NULL AND any(l IN labels(n) WHERE l IN $labels)
WITH n, 2 * vector.similarity.cosine(n.embedding, $vector) - 1 AS score
ORDER BY score DESC, n.id LIMIT $limit
RETURN n {.*, embedding: null} AS node, labels(n) AS labels, score

// name: search_text
CALL db.index.fulltext.queryNodes('entity_text', $lucene) YIELD node AS n, score
WHERE n.tenant = $tenant AND any(l IN labels(n) WHERE l IN $labels)
RETURN n {.*, embedding: null} AS node, labels(n) AS labels, score
ORDER BY score DESC, n.name, n.id LIMIT $limit

// name: edges
CALL () {
  UNWIND $ids AS id
  MATCH (a:__Node__ {id: id})-[r:$any($leaving)]->(b) WHERE a.tenant = $tenant
  RETURN a AS source, r, b AS target
  UNION
  UNWIND $ids AS id
  MATCH (b:__Node__ {id: id})<-[r:$any($reaching)]-(a) WHERE b.tenant = $tenant
  RETURN a AS source, r, b AS target
}
RETURN r {.*, type: type(r), source: source.id, target: target.id} AS edge
ORDER BY r.confirmations DESC, type(r), source.id, target.id LIMIT $limit

// name: list_nodes
MATCH (n:__Entity__ {tenant: $tenant})
WHERE any(l IN labels(n) WHERE l IN $labels)
  AND ($key = '' OR any(k IN n.name_keys WHERE k CONTAINS $key))
  AND ($after IS NULL OR n.confirmations < $after.confirmations
    OR (n.confirmations = $after.confirmations
      AND (n.name > $after.name OR (n.name = $after.name AND n.id > $after.id))))
WITH n ORDER BY n.confirmations DESC, n.name, n.id LIMIT $limit
RETURN n {.*, embedding: null} AS node, labels(n) AS labels

// name: get_meta
MATCH (m:__Meta__ {key: $key}) RETURN m.value AS value
