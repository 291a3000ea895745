// What is read often comes in one record, `rows`: the driver takes many times as long over a record as over a row in a
// list. Placeholders like __TYPE__ are filled in from the closed lists of types and labels (see `filled`).
// Reads of now see entities and relations; reads of a moment (`..._at`) see the nodes that keep the past as well.

// name: nodes
UNWIND $ids AS id
MATCH (n:__Node__ {id: id}) WHERE n.tenant = $tenant AND n.scope IN $scopes
RETURN collect({node: n {.*, embedding: null}, labels: labels(n)}) AS rows

// name: all_nodes
MATCH (n:__Entity__ {tenant: $tenant}) WHERE n.scope IN $scopes AND any(l IN labels(n) WHERE l IN $labels)
RETURN n {.*, embedding: null} AS node, labels(n) AS labels ORDER BY n.id

// Every node that held, or of those the ones of these ids, keys or with this part in a key, where asked for.

// name: nodes_at
CALL () {
  MATCH (n:__Entity__ {tenant: $tenant}) RETURN n, labels(n) AS labels
  UNION ALL
  MATCH (n:__PastNode__ {tenant: $tenant}) RETURN n, [n.past_label] AS labels
}
WITH n, labels
WHERE n.valid_from <= $at AND (n.valid_to IS NULL OR n.valid_to > $at)
  AND n.scope IN $scopes AND any(l IN labels WHERE l IN $labels)
  AND ($ids IS NULL OR n.id IN $ids)
  AND ($keys IS NULL OR any(k IN n.name_keys WHERE k IN $keys))
  AND ($part = '' OR any(k IN n.name_keys WHERE k CONTAINS $part))
RETURN n {.*, embedding: null} AS node, labels ORDER BY n.confirmations DESC, n.name, n.id

// name: resolve
UNWIND $names AS name
MATCH (k:__Name__ {id: name.id}) WHERE k.tenant = $tenant
MATCH (n:__Node__ {id: k.owner})
WITH name, n ORDER BY n.confirmations DESC, n.name, n.id
RETURN collect({key: name.key, node: n {.*, embedding: null}, labels: labels(n)}) AS rows

// Of searches the last row tells how many nodes the indexes gave, wanted or not. A vector index's own scores are
// quantised: what is kept is ranked again by the exact cosine.

// name: search_vectors
UNWIND $indexes AS index
CALL db.index.vector.queryNodes(index, $fetch, $vector) YIELD node AS n
WITH n, n.tenant = $tenant AND n.scope IN $scopes AND any(l IN labels(n) WHERE l IN $labels) AS wanted
WITH n, wanted, CASE WHEN wanted THEN 2 * vector.similarity.cosine(n.embedding, $vector) - 1 ELSE -2 END AS score
ORDER BY score DESC, n.id
WITH count(*) AS looked_at,
  collect(CASE WHEN wanted THEN {node: n {.*, embedding: null}, labels: labels(n), score: score} END) AS found
RETURN found[..$limit] + [{looked_at: looked_at}] AS rows

// name: scan_vectors
MATCH (n:__LABELS__)
WHERE n.tenant = $tenant AND n.scope IN $scopes AND n.embedding IS NOT NULL
WITH n, 2 * vector.similarity.cosine(n.embedding, $vector) - 1 AS score
ORDER BY score DESC, n.id LIMIT $limit
RETURN collect({node: n {.*, embedding: null}, labels: labels(n), score: score}) AS rows

// name: scan_vectors_at
CALL () {
  MATCH (n:__Entity__ {tenant: $tenant}) WHERE n.embedding IS NOT NULL RETURN n, labels(n) AS labels
  UNION ALL
  MATCH (n:__PastNode__ {tenant: $tenant}) WHERE n.embedding IS NOT NULL RETURN n, [n.past_label] AS labels
}
WITH n, labels
WHERE n.valid_from <= $at AND (n.valid_to IS NULL OR n.valid_to > $at)
  AND n.scope IN $scopes AND any(l IN labels WHERE l IN $labels) AND size(n.embedding) = size($vector)
WITH n, labels, 2 * vector.similarity.cosine(n.embedding, $vector) - 1 AS score
ORDER BY score DESC, n.id LIMIT $limit
RETURN n {.*, embedding: null} AS node, labels, score

// name: search_text
UNWIND $indexes AS index
CALL db.index.fulltext.queryNodes(index, $lucene, {limit: $fetch}) YIELD node AS n, score
WITH n, score, n.tenant = $tenant AND n.scope IN $scopes AND any(l IN labels(n) WHERE l IN $labels) AS wanted
ORDER BY score DESC, n.name, n.id
WITH count(*) AS looked_at,
  collect(CASE WHEN wanted THEN {node: n {.*, embedding: null}, labels: labels(n), score: score} END) AS found
RETURN found[..$limit] + [{looked_at: looked_at}] AS rows

// name: search_text_at
CALL () {
  UNWIND $indexes AS index
  CALL db.index.fulltext.queryNodes(index, $lucene) YIELD node, score
  RETURN node AS n, labels(node) AS labels, score
  UNION ALL
  CALL db.index.fulltext.queryNodes('past_text', $lucene) YIELD node, score
  RETURN node AS n, [node.past_label] AS labels, score
}
WITH n, labels, score
WHERE n.tenant = $tenant AND n.valid_from <= $at AND (n.valid_to IS NULL OR n.valid_to > $at)
  AND n.scope IN $scopes AND any(l IN labels WHERE l IN $labels)
RETURN n {.*, embedding: null} AS node, labels, score
ORDER BY score DESC, n.name, n.id LIMIT $limit

// name: edges
CALL () {
  UNWIND $ids AS id
  MATCH (a:__Node__ {id: id})-[r:__LEAVING__]->(b) WHERE a.tenant = $tenant AND r.scope IN $scopes
  RETURN a AS source, r, b AS target
  UNION
  UNWIND $ids AS id
  MATCH (b:__Node__ {id: id})<-[r:__REACHING__]-(a) WHERE b.tenant = $tenant AND r.scope IN $scopes
  RETURN a AS source, r, b AS target
}
WITH source, r, target
ORDER BY r.confirmations DESC, type(r), source.id, target.id, r.id LIMIT $limit
RETURN collect({edge: r {.*, edge_type: type(r), source: source.id, target: target.id}}) AS rows

// name: edges_at
CALL () {
  UNWIND $ids AS id
  MATCH (a:__Node__ {id: id})-[r:__LEAVING__]->(b)
  RETURN r {.*, edge_type: type(r), source: a.id, target: b.id} AS edge
  UNION
  UNWIND $ids AS id
  MATCH (b:__Node__ {id: id})<-[r:__REACHING__]-(a)
  RETURN r {.*, edge_type: type(r), source: a.id, target: b.id} AS edge
  UNION
  UNWIND $ids AS id
  MATCH (p:__PastEdge__ {source: id}) WHERE p.edge_type IN $leaving
  RETURN p {.*} AS edge
  UNION
  UNWIND $ids AS id
  MATCH (p:__PastEdge__ {target: id}) WHERE p.edge_type IN $reaching
  RETURN p {.*} AS edge
}
WITH edge
WHERE edge.tenant = $tenant AND edge.scope IN $scopes
  AND edge.valid_from <= $at AND (edge.valid_to IS NULL OR edge.valid_to > $at)
RETURN edge
ORDER BY edge.confirmations DESC, edge.edge_type, edge.source, edge.target, edge.id LIMIT $limit

// name: steps
CALL () {
  UNWIND range(0, size($frontier) - 1) AS rank
  MATCH (a:__Node__ {id: $frontier[rank]})-[r:__LEAVING__]->(b)
  WHERE a.tenant = $tenant AND r.scope IN $scopes AND b.scope IN $scopes
  RETURN rank, b
  UNION ALL
  UNWIND range(0, size($frontier) - 1) AS rank
  MATCH (a:__Node__ {id: $frontier[rank]})<-[r:__REACHING__]-(b)
  WHERE a.tenant = $tenant AND r.scope IN $scopes AND b.scope IN $scopes
  RETURN rank, b
}
WITH rank, b LIMIT $limit
WITH b, min(rank) AS rank, count(*) AS walked
RETURN collect({rank: rank, there: b.id, name: b.name, labels: labels(b), walked: walked}) AS rows

// All that a walk of one or two hops either way comes upon, unless it is too much: the nodes whose edges it follows, the
// edges, and the nodes at their ends.

// name: surroundings
UNWIND $ids AS id
MATCH (a:__Node__ {id: id}) WHERE a.tenant = $tenant
WITH collect(a) AS start
CALL (start) {
  UNWIND start AS a
  RETURN a
  UNION
  UNWIND start AS b
  MATCH (b)-[r:__LEAVING__]-(a) WHERE $hops > 1 AND r.scope IN $scopes AND a.scope IN $scopes
  RETURN a LIMIT $limit
}
WITH collect(a) AS inner
CALL (inner) {
  UNWIND inner AS a
  MATCH (a)-[r:__LEAVING__]-(b) WHERE r.scope IN $scopes
  WITH r, b LIMIT $limit
  RETURN collect(DISTINCT r) AS edges, collect(DISTINCT b) AS ends, count(*) AS walked
}
WITH inner, edges, ends WHERE walked < $limit
CALL (inner, ends) {
  UNWIND inner + ends AS n
  WITH DISTINCT n WHERE n.scope IN $scopes
  RETURN collect({node: n {.*, embedding: null}, labels: labels(n)}) AS nodes
}
RETURN
  [n IN inner | n.id] AS inner, nodes,
  [r IN edges | r {.*, edge_type: type(r), source: startNode(r).id, target: endNode(r).id}] AS edges

// All that a walk in one direction comes upon, unless it is too much: the nodes whose edges it follows, where these lead,
// and the names there. How far it goes is part of the text (`__FAR__`), one less than the hops, as the last needs no more.

// name: all_steps_in
UNWIND $ids AS id
MATCH (a:__Node__ {id: id}) WHERE a.tenant = $tenant
WITH collect(a) AS start
CALL (start) {
  UNWIND start AS a
  MATCH (a)<-[:__REACHING__*0..__FAR__ {scope: $scope}]-(b)
  RETURN DISTINCT b LIMIT $most + 1
}
WITH start, collect(b) AS inner WHERE size(inner) <= $most
CALL (inner) {
  UNWIND inner AS a
  MATCH (a)<-[r:__REACHING__]-(b) WHERE r.scope = $scope
  WITH a, b LIMIT $limit
  RETURN collect([a.id, b.id]) AS edges, collect(DISTINCT b) AS ends
}
WITH start, inner, edges, ends WHERE size(edges) < $limit
RETURN
  [n IN start WHERE n.scope = $scope | {node: n {.*, embedding: null}, labels: labels(n)}] AS start,
  [n IN inner | n.id] AS inner, edges,
  [n IN ends WHERE n.scope = $scope | [n.id, n.name, labels(n)]] AS ends

// name: all_steps_out
UNWIND $ids AS id
MATCH (a:__Node__ {id: id}) WHERE a.tenant = $tenant
WITH collect(a) AS start
CALL (start) {
  UNWIND start AS a
  MATCH (a)-[:__LEAVING__*0..__FAR__ {scope: $scope}]->(b)
  RETURN DISTINCT b LIMIT $most + 1
}
WITH start, collect(b) AS inner WHERE size(inner) <= $most
CALL (inner) {
  UNWIND inner AS a
  MATCH (a)-[r:__LEAVING__]->(b) WHERE r.scope = $scope
  WITH a, b LIMIT $limit
  RETURN collect([a.id, b.id]) AS edges, collect(DISTINCT b) AS ends
}
WITH start, inner, edges, ends WHERE size(edges) < $limit
RETURN
  [n IN start WHERE n.scope = $scope | {node: n {.*, embedding: null}, labels: labels(n)}] AS start,
  [n IN inner | n.id] AS inner, edges,
  [n IN ends WHERE n.scope = $scope | [n.id, n.name, labels(n)]] AS ends

// name: neighbours
CALL () {
  MATCH (a:__Node__ {id: $id})-[r:__LEAVING__]->(b) WHERE a.tenant = $tenant RETURN a AS source, r, b AS target, b
  UNION
  MATCH (a:__Node__ {id: $id})<-[r:__REACHING__]-(b) WHERE a.tenant = $tenant RETURN b AS source, r, a AS target, b
}
WITH source, r, target, b
WHERE r.scope IN $scopes AND b.scope IN $scopes
  AND ($after IS NULL OR r.confirmations < $after.confirmations
    OR (r.confirmations = $after.confirmations
      AND (b.name > $after.name OR (b.name = $after.name AND r.id > $after.id))))
WITH source, r, target, b ORDER BY r.confirmations DESC, b.name, r.id LIMIT $limit
RETURN r {.*, edge_type: type(r), source: source.id, target: target.id} AS edge,
  b {.*, embedding: null} AS node, labels(b) AS labels

// name: list_nodes
MATCH (n:__Entity__ {tenant: $tenant})
WHERE any(l IN labels(n) WHERE l IN $labels) AND n.scope IN $scopes
  AND ($key = '' OR any(k IN n.name_keys WHERE k CONTAINS $key))
  AND ($after IS NULL OR n.confirmations < $after.confirmations
    OR (n.confirmations = $after.confirmations
      AND (n.name > $after.name OR (n.name = $after.name AND n.id > $after.id))))
WITH n ORDER BY n.confirmations DESC, n.name, n.id LIMIT $limit
RETURN n {.*, embedding: null} AS node, labels(n) AS labels

// name: pairs
MATCH (a:__Entity__ {tenant: $tenant})-[r:__LEAVING__]->(b) WHERE r.scope = $scope
RETURN a.id AS source, b.id AS target

// name: history_nodes
CALL () {
  UNWIND $ids AS id MATCH (n:__Node__ {id: id}) RETURN n, labels(n) AS labels
  UNION ALL
  UNWIND $ids AS id MATCH (n:__PastNode__ {id: id}) RETURN n, [n.past_label] AS labels
}
WITH n, labels WHERE n.tenant = $tenant ORDER BY n.id, n.valid_from
RETURN collect({node: n {.*}, labels: labels}) AS rows

// name: history_edges
CALL () {
  UNWIND $ids AS id
  MATCH (a:__Node__ {id: id})-[r]-()
  RETURN r {.*, edge_type: type(r), source: startNode(r).id, target: endNode(r).id} AS edge
  UNION
  UNWIND $ids AS id MATCH (p:__PastEdge__ {source: id}) RETURN p {.*} AS edge
  UNION
  UNWIND $ids AS id MATCH (p:__PastEdge__ {target: id}) RETURN p {.*} AS edge
}
WITH edge WHERE edge.tenant = $tenant ORDER BY edge.id, edge.valid_from
RETURN collect({edge: edge}) AS rows

// name: every_node
CALL () {
  MATCH (n:__Entity__ {tenant: $tenant}) RETURN n, labels(n) AS labels
  UNION ALL
  MATCH (n:__PastNode__ {tenant: $tenant}) RETURN n, [n.past_label] AS labels
}
RETURN n {.*, embedding: null} AS node, labels ORDER BY n.id, n.valid_from

// name: every_edge
CALL () {
  MATCH (a:__Entity__ {tenant: $tenant})-[r]->(b)
  RETURN r {.*, edge_type: type(r), source: a.id, target: b.id} AS edge
  UNION ALL
  MATCH (p:__PastEdge__ {tenant: $tenant}) RETURN p {.*} AS edge
}
RETURN edge ORDER BY edge.id, edge.valid_from

// name: records
MATCH (r:__Record__ {tenant: $tenant, kind: $kind})
WITH r ORDER BY r.id
RETURN collect({id: r.id, body: r.body}) AS rows

// name: get_meta
MATCH (m:__Meta__ {key: $key}) RETURN m.value AS value
