// The first statement of every write takes the tenant's lock, so that the reads after it see all earlier writes.

// name: lock_tenant
MERGE (t:__Tenant__ {name: $tenant}) SET t.writes = coalesce(t.writes, 0) + 1

// name: owners
UNWIND $names AS name
MATCH (k:__Name__ {id: name.id}) WHERE k.tenant = $tenant
RETURN name.label AS label, name.key AS key, k.owner AS owner

// name: nodes_of_source
MATCH (n:__Entity__ {tenant: $tenant}) WHERE $source IN n.sources
RETURN n {.*, embedding: null} AS node, labels(n) AS labels

// name: edges_by_key
UNWIND $rows AS row
MATCH (a:__Node__ {id: row.source})-[r:$(row.type)]->(b:__Node__ {id: row.target})
RETURN r {.*, type: type(r), source: a.id, target: b.id} AS edge

// name: edges_of_source
MATCH (a:__Entity__ {tenant: $tenant})-[r]->(b) WHERE $source IN r.sources
RETURN r {.*, type: type(r), source: a.id, target: b.id} AS edge

// name: edges_of_nodes
UNWIND $ids AS id
MATCH (n:__Node__ {id: id})-[r]-()
WITH DISTINCT r
RETURN r {.*, type: type(r), source: startNode(r).id, target: endNode(r).id} AS edge

// name: close_edges
UNWIND $rows AS row
MATCH (a:__Node__ {id: row.source})-[r:$(row.type)]->(b:__Node__ {id: row.target})
DELETE r
CREATE (p:__Past__) SET p = row.past

// name: close_nodes
UNWIND $rows AS row
MATCH (n:__Node__ {id: row.id})
DELETE n
CREATE (p:__Past__) SET p = row.past

// name: free_names
UNWIND $ids AS id
MATCH (k:__Name__ {owner: id})
DELETE k

// name: put_nodes
UNWIND $rows AS row
MERGE (n:__Node__ {id: row.id})
SET n:__Entity__, n:$(row.label), n += row.properties

// name: claim_names
UNWIND $rows AS row
CREATE (k:__Name__ {id: row.id, tenant: row.tenant, owner: row.owner})

// name: put_edges
UNWIND $rows AS row
MATCH (a:__Node__ {id: row.source})
MATCH (b:__Node__ {id: row.target})
MERGE (a)-[r:$(row.type)]->(b)
SET r += row.properties

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
