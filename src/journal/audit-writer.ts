import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { OpenBlock } from './audit-blocks.ts';
import { type AuditFields, type ChainLink, nextLink } from './audit-chain.ts';
import { packId } from './audit-columns.ts';
import { AUDIT_KINDS } from './audit-schema.ts';

const MAX_KNOWN_WORDS = 5_000;

interface Statements {
  readonly insert: StatementSync;
  readonly findWord: StatementSync;
  readonly addWord: StatementSync;
}

/** Appends rows to the chain of one hub. */
export class AuditWriter {
  readonly #hub: string;
  readonly #statements: Statements;
  readonly #words = new Map<string, bigint>();
  readonly #block: OpenBlock;

  constructor(database: DatabaseSync, hub: string) {
    this.#hub = hub;
    this.#statements = {
      insert: database.prepare('INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
      findWord: database.prepare('SELECT id FROM word WHERE text = ?'),
      addWord: database.prepare('INSERT INTO word (text) VALUES (?) RETURNING id'),
    };
    this.#block = new OpenBlock(database);
  }

  /** Appends after `head` and answers the new head. To be run inside a transaction; call `forget` when that is undone. */
  append(head: ChainLink, entries: readonly AuditFields[]): ChainLink {
    let link = head;
    for (const fields of entries) {
      link = nextLink(link, this.#hub, fields);
      this.#insert(link, fields);
      this.#block.add(link.seq, fields);
    }
    return link;
  }

  /** Forgets what it remembers of the file. */
  forget(): void {
    this.#words.clear();
    this.#block.reload();
  }

  #insert({ seq, hash }: ChainLink, { atMs, kind, agent, tokens, tool, request, trace, content }: AuditFields): void {
    const kindNumber = AUDIT_KINDS.indexOf(kind);
    const [agentWord, tokensWord] = [this.#word(agent), this.#word(tokens?.join(' '))];
    // Refused callers invent names of tools, and a word stays for ever.
    const toolWord = kind === 'refusal' ? (tool ?? null) : this.#word(tool);
    const hashBytes = Buffer.from(hash, 'hex');
    const ids = [packId(request), packId(trace)] as const;
    this.#statements.insert.run(seq, atMs, kindNumber, agentWord, tokensWord, toolWord, ...ids, content, hashBytes);
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
