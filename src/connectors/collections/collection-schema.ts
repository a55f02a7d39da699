/** Format 1 of the file: a document has parts, and each part the vector of its text. */
export const COLLECTION_SCHEMA = `
CREATE TABLE collections (name TEXT PRIMARY KEY, model TEXT NOT NULL, width INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE documents (
  number INTEGER PRIMARY KEY,
  collection TEXT NOT NULL REFERENCES collections (name),
  id TEXT NOT NULL,
  metadata TEXT NOT NULL,
  UNIQUE (collection, id)
) STRICT;
CREATE TABLE parts (
  number INTEGER PRIMARY KEY,
  document INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
  part INTEGER NOT NULL,
  text TEXT NOT NULL,
  vector BLOB NOT NULL
) STRICT;
CREATE INDEX parts_of_document ON parts (document);
`;
/** What `PRAGMA user_version` says of it. */
export const COLLECTION_FORMAT = 1;
