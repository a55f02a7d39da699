import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { AUDIT_KINDS } from '../../core/storage/audit-log.ts';
import { OpenBlock } from './audit-blocks.ts';
import { packId } from './audit-columns.ts';
import type { ChainedRow } from './audit-ledger.ts';

const MAX_KNOWN_WORDS = 5_000;

interface Statements {
  readonly insert: StatementSync;
  readonly findWord: StatementSync;
  readonly addWord: StatementSync;
}

/** Puts chained rows into audit.db. */
export class AuditWriter {
  readonly #statements: Statements;
  readonly #words = new Map<string, bigint>();
  readonly #block: OpenBlock;

  constructor(database: DatabaseSync) {
    this.#statements = {
      insert: database.prepare('INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
      findWord: database.prepare('SELECT id FROM word WHERE text = ?'),
      addWord: database.prepare('INSERT INTO word (text) VALUES (?) RETURNING id'),
    };
    this.#block = new OpenBlock(database);
  }

  /** To be run inside a transaction; call `forget` when that is undone. */
  insert(rows: readonly ChainedRow[]): void {
    for (const row of rows) {
      this.#insert(row);
      this.#block.add(row.link.seq, row.fields);
    }
  }

  /** Forgets what it remembers of the file. */
  forget(): void {
    this.#words.clear();
    this.#block.reload();
  }

  #insert({ link, fields }: ChainedRow): void {
    const { atMs, kind, agent, tokens, tool, request, trace, content } = fields;
    this.#statements.insert.run(
      link.seq,
      atMs,
      AUDIT_KINDS.indexOf(kind),
      this.#word(agent),
      this.#word(tokens?.join(' ')),
      // Refused callers invent names of tools, and a word stays for ever.
      kind === 'refusal' ? (tool ?? null) : this.#word(tool),
      packId(request),
      packId(trace),
      content,
      Buffer.from(link.hash, 'hex'),
    );
  }

  #word(text: string | undefined): bigint | null {
    if (text === undefined) return null;
    const known = this.#words.get(text);
    if (known !== undefined) return known;
    const { findWord, addWord } = this.#statements;
    // A number would be stored as a float where the column has no type.
    const id = BigInt(Number((findWord.get(text) ?? addWord.get(text))?.id));
    if (this.#words.size >= MAX_KNOWN_WORDS) this.#words.clear();
    this.#words.set(text, id);
    return id;
  }
}
