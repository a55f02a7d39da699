/**
 * audit.db. `kind` is a place in AUDIT_KINDS. Names that repeat (agents, tools, chains of tokens) are numbers of the table
 * `word`; names of tools that callers made up are texts in their row. There is no index on the columns of `entry`: ids of
 * requests are random, and one changed index page for each row costs more than the row itself. `block` stands for one: what
 * occurs in each stretch of rows, written once when the stretch is full.
 */
export const AUDIT_MIGRATIONS = [
  `CREATE TABLE chain (hub TEXT NOT NULL, pruned_seq INTEGER NOT NULL, pruned_hash BLOB NOT NULL);
  CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
  CREATE TABLE entry (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    agent INTEGER,
    tokens INTEGER,
    tool,
    request,
    trace,
    content TEXT NOT NULL,
    hash BLOB NOT NULL
  );
  CREATE TABLE block (
    last INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,
    min_at INTEGER NOT NULL,
    max_at INTEGER NOT NULL,
    keys BLOB NOT NULL
  )`,
];
