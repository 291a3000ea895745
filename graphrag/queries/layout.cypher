// What stock LlamaIndex creates too.
CREATE CONSTRAINT IF NOT EXISTS FOR (n:__Node__) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT IF NOT EXISTS FOR (n:__Entity__) REQUIRE n.id IS UNIQUE;
// Ours, on labels that stock readers never ask for.
CREATE CONSTRAINT IF NOT EXISTS FOR (k:__Name__) REQUIRE k.id IS UNIQUE;
CREATE CONSTRAINT IF NOT EXISTS FOR (t:__Tenant__) REQUIRE t.name IS UNIQUE;
CREATE CONSTRAINT IF NOT EXISTS FOR (m:__Meta__) REQUIRE m.key IS UNIQUE;
CREATE CONSTRAINT IF NOT EXISTS FOR (r:__Record__) REQUIRE r.key IS UNIQUE;
CREATE INDEX IF NOT EXISTS FOR (n:__Entity__) ON (n.tenant);
CREATE INDEX IF NOT EXISTS FOR (k:__Name__) ON (k.owner);
CREATE INDEX IF NOT EXISTS FOR (r:__Record__) ON (r.tenant, r.kind);
CREATE INDEX IF NOT EXISTS FOR (p:__PastNode__) ON (p.tenant);
CREATE INDEX IF NOT EXISTS FOR (p:__PastNode__) ON (p.id);
CREATE INDEX IF NOT EXISTS FOR (p:__PastEdge__) ON (p.tenant);
CREATE INDEX IF NOT EXISTS FOR (p:__PastEdge__) ON (p.source);
CREATE INDEX IF NOT EXISTS FOR (p:__PastEdge__) ON (p.target);
// Full text was in one index for all kinds of node.
DROP INDEX entity_text IF EXISTS;
CREATE FULLTEXT INDEX past_text IF NOT EXISTS FOR (p:__PastNode__)
ON EACH [p.name, p.search_words, p.alias_text, p.summary, p.search_scope];
