// `entity` is the index that stock LlamaIndex asks. The others let a search for few among many find them.

// name: create_vectors
CREATE VECTOR INDEX __INDEX__ IF NOT EXISTS FOR (n:__LABEL__) ON n.embedding
OPTIONS {indexConfig: {`vector.dimensions`: $dimensions, `vector.similarity_function`: 'cosine'}}

// name: create_text
CREATE FULLTEXT INDEX __INDEX__ IF NOT EXISTS FOR (n:__LABELS__)
ON EACH [n.name, n.search_words, n.alias_text, n.summary, n.search_scope]

// name: show
SHOW INDEXES YIELD name, type, state, labelsOrTypes, properties, options
WHERE name IN $names
RETURN name, type, state, labelsOrTypes, properties, options.indexConfig['vector.dimensions'] AS dimensions

// name: await_online
CALL db.awaitIndexes($seconds)

// name: drop_vectors
DROP INDEX __INDEX__ IF EXISTS

// name: forget_vectors
MATCH (n:__Entity__|__PastNode__) WHERE n.embedding IS NOT NULL
CALL (n) { REMOVE n.embedding } IN TRANSACTIONS OF 1000 ROWS
