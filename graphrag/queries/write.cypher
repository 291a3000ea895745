// The first statement of every write takes the tenant's lock, so that the reads after it see all earlier writes, and
// what was not found may be created. What is read comes in one record, `rows` (see read.cypher).

// name: lock_tenant
MERGE (t:__Tenant__ {name: $tenant}) SET t.writes = coalesce(t.writes, 0) + 1

// name: owners
UNWIND $ids AS id
MATCH (k:__Name__ {id: id}) WHERE k.tenant = $tenant
RETURN collect([id, k.owner]) AS rows

// name: nodes_known
UNWIND $ids AS id
MATCH (n:__Node__ {id: id}) WHERE n.tenant = $tenant
RETURN collect({node: n {.*, embedding: null}, labels: labels(n)}) AS rows

// name: nodes_of_sources
MATCH (n:__Entity__ {tenant: $tenant}) WHERE any(source IN n.sources WHERE source IN $sources)
RETURN collect({node: n {.*, embedding: null}, labels: labels(n)}) AS rows

// name: edges_known
UNWIND $rows AS row
MATCH (a:__Node__ {id: row.source})-[r:__TYPE__ {id: row.id}]->(b:__Node__ {id: row.target})
RETURN collect({edge: r {.*, edge_type: type(r), source: a.id, target: b.id}}) AS rows

// name: edges_of_sources
MATCH (a:__Entity__ {tenant: $tenant})-[r]->(b) WHERE any(source IN r.sources WHERE source IN $sources)
RETURN collect({edge: r {.*, edge_type: type(r), source: a.id, target: b.id}}) AS rows

// name: confirm_nodes
MATCH (n:__Entity__ {tenant: $tenant})
WHERE n.scope = $scope AND n.last_seen < $seen_at AND any(source IN n.sources WHERE source IN $sources)
SET n.confirmations = n.confirmations + 1, n.last_seen = $seen_at
RETURN [count(n)] AS rows

// name: confirm_edges
MATCH (:__Entity__ {tenant: $tenant})-[r]->()
WHERE r.scope = $scope AND r.last_seen < $seen_at AND any(source IN r.sources WHERE source IN $sources)
SET r.confirmations = r.confirmations + 1, r.last_seen = $seen_at
RETURN [count(r)] AS rows

// name: edges_of_nodes
UNWIND $ids AS id
MATCH (n:__Node__ {id: id})-[r]-()
WITH DISTINCT r
RETURN collect({edge: r {.*, edge_type: type(r), source: startNode(r).id, target: endNode(r).id}}) AS rows

// name: close_edges
UNWIND $rows AS row
MATCH (a:__Node__ {id: row.source})-[r:__TYPE__ {id: row.id}]->(b:__Node__ {id: row.target})
DELETE r
CREATE (p:__PastEdge__) SET p = row.past

// name: close_nodes
UNWIND $rows AS row
MATCH (n:__Node__ {id: row.id})
CREATE (p:__PastNode__) SET p = row.past, p.embedding = n.embedding
DELETE n

// name: free_names
UNWIND $ids AS id
MATCH (k:__Name__ {owner: id}) WHERE k.tenant = $tenant
DELETE k

// What is made anew comes in two parts, as most of a run has the same life: that is sent once, in `$shared`.

// name: create_nodes
UNWIND $rows AS row
CREATE (n:__Node__:__Entity__:__LABEL__) SET n = row.own, n += $shared[row.shared]

// name: update_nodes
UNWIND $rows AS row
MATCH (n:__Node__ {id: row.id}) SET n += row.properties

// name: claim_names
UNWIND $rows AS row
CREATE (k:__Name__ {id: row[0], tenant: $tenant, owner: row[1]})

// name: create_edges
UNWIND $rows AS row
MATCH (a:__Node__ {id: row.source})
MATCH (b:__Node__ {id: row.target})
CREATE (a)-[r:__TYPE__]->(b) SET r = row.own, r += $shared[row.shared]

// name: update_edges
UNWIND $rows AS row
MATCH (a:__Node__ {id: row.source})-[r:__TYPE__ {id: row.id}]->(b:__Node__ {id: row.target})
SET r += row.properties

// name: create_past_nodes
UNWIND $rows AS row
CREATE (p:__PastNode__) SET p = row

// name: create_past_edges
UNWIND $rows AS row
CREATE (p:__PastEdge__) SET p = row

// name: remove_nodes
UNWIND $ids AS id
MATCH (n:__Node__ {id: id}) WHERE n.tenant = $tenant
DETACH DELETE n

// name: remove_past_nodes
UNWIND $ids AS id
MATCH (p:__PastNode__ {id: id}) WHERE p.tenant = $tenant
DELETE p

// name: remove_past_edges
MATCH (p:__PastEdge__) WHERE (p.source IN $ids OR p.target IN $ids) AND p.tenant = $tenant
DELETE p

// name: forget_records
UNWIND $keys AS key
MATCH (r:__Record__ {key: key}) DELETE r

// name: put_records
UNWIND $rows AS row
MERGE (r:__Record__ {key: row.key}) SET r += row

// name: annotate
UNWIND $rows AS row
MATCH (n:__Entity__ {id: row.id}) WHERE n.tenant = $tenant
SET n += row.properties

// name: set_vectors
UNWIND $rows AS row
MATCH (n:__Entity__ {id: row.id}) WHERE n.tenant = $tenant
CALL db.create.setNodeVectorProperty(n, 'embedding', row.vector)
RETURN count(*)

// name: clear_vectors
UNWIND $ids AS id
MATCH (n:__Entity__ {id: id}) WHERE n.tenant = $tenant
REMOVE n.embedding

// name: put_meta
MERGE (m:__Meta__ {key: $key}) SET m.value = $value

// name: lease
MERGE (m:__Meta__ {key: $key}) SET m.asked = $holder
RETURN m.value AS value
