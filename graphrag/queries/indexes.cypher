// name: create_vectors
CREATE VECTOR INDEX entity IF NOT EXISTS FOR (n:__Entity__) ON n.embedding
OPTIONS {indexConfig: {`vector.dimensions`: $dimensions, `vector.similarity_function`: 'cosine'}}

// name: show
SHOW INDEXES YIELD name, type, state, labelsOrTypes, properties, options
WHERE name IN ['entity', 'entity_text', 'past_text']
RETURN name, type, state, labelsOrTypes, properties, options.indexConfig['vector.dimensions'] AS dimensions

// name: await_online
CALL db.awaitIndexes($seconds)

// name: drop_vectors
DROP INDEX entity IF EXISTS

// name: forget_vectors
MATCH (n:__Entity__|__PastNode__) WHERE n.embedding IS NOT NULL
CALL (n) { REMOVE n.embedding } IN TRANSACTIONS OF 1000 ROWS
