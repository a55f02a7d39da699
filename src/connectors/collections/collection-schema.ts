/** Format 1 of the file: a document has parts, and each part a vector, which lies apart so that a search reads nothing else. */
export const COLLECTION_SCHEMA = `
CREATE TABLE collections (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, model TEXT NOT NULL, width INTEGER NOT NULL) STRICT;
CREATE TABLE documents (
  number INTEGER PRIMARY KEY,
  collection INTEGER NOT NULL REFERENCES collections (number),
  id TEXT NOT NULL,
  metadata TEXT NOT NULL,
  UNIQUE (collection, id)
) STRICT;
CREATE TABLE parts (
  number INTEGER PRIMARY KEY,
  document INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
  part INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE TABLE vectors (
  part INTEGER PRIMARY KEY REFERENCES parts (number) ON DELETE CASCADE,
  collection INTEGER NOT NULL,
  document INTEGER NOT NULL,
  vector BLOB NOT NULL
) STRICT;
CREATE INDEX parts_of_document ON parts (document);
`;
/** What `PRAGMA user_version` says of it. */
export const COLLECTION_FORMAT = 1;
