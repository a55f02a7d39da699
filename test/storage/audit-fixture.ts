import { DatabaseSync } from 'node:sqlite';
import type { Principal } from '../../src/core/auth/principal.ts';
import type { AuditIntent, AuditNote, AuditOutcome } from '../../src/core/storage/audit-sink.ts';
import { AuditStore, type AuditStoreOptions } from '../../src/storage/audit/audit-store.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { AuditLogFixture } from './storage-fixture.ts';

const HUB = 'hub-0123456789abcdef';
const bot: Principal = {
  id: 'lamp-bot',
  kind: 'agent',
  permissions: ['device:control:lamp'],
  token: {
    id: 'beef',
    chain: ['cafe', 'beef'],
    text: 'at1.c2VjcmV0LXRva2VuLXRleHQtdGhhdC1ub2JvZHktbWF5LXNlZQ',
    expiresAtMs: 0,
    keys: ['a-key-nobody-needs'],
    rateLimits: [],
  },
};

/** A journal in a directory of its own. `edit` changes its file behind its back, while it is closed. */
export class AuditFixture implements AsyncDisposable {
  readonly journal = new AuditLogFixture();
  readonly anchors = new MemoryKeyValueStore(this.journal.clock);
  #store: AuditStore | undefined;
  #requests = 0;

  get path(): string {
    return this.journal.path('audit.db');
  }

  async open(options: Partial<AuditStoreOptions> = {}): Promise<AuditStore> {
    const { collaborators, directory, snapshotDirectory } = this.journal;
    const store = new AuditStore({ ...collaborators, anchors: this.anchors }, { directory, snapshotDirectory, hubId: HUB, ...options });
    this.#store = store;
    await store.start();
    return store;
  }

  async close(): Promise<void> {
    await this.#store?.[Symbol.asyncDispose]();
  }

  /** Closes, changes the file by SQL, opens again. */
  async edit(change: (database: DatabaseSync) => void): Promise<AuditStore> {
    await this.close();
    using database = new DatabaseSync(this.path);
    change(database);
    database.close();
    return await this.open();
  }

  /** What happened to one call that ran. */
  call(extra: Partial<AuditIntent> = {}): readonly [AuditIntent, AuditOutcome] {
    const requestId = extra.requestId ?? `request-${++this.#requests}`;
    const base = { requestId, traceId: `trace-${requestId}`, principal: bot, toolId: 'matter:lamp_turn_on@1.0.0', ...extra };
    const atMs = this.journal.clock.now();
    const intent: AuditIntent = {
      ...base,
      kind: 'intent',
      atMs,
      argumentsHash: 'ab'.repeat(32),
      params: { level: 40 },
      effects: [{ permission: 'device:control:lamp', risk: 'low', target: 'lamp/1/OnOff/On' }],
      decision: {},
      run: { runId: requestId, logicalTimeMs: atMs, randomSeed: 'seed' },
      mustSync: false,
      ...extra,
    };
    const { requestId: id, traceId, principal, toolId } = base;
    const about = { requestId: id, traceId, principal, toolId, atMs };
    return [intent, { ...about, kind: 'outcome', durationMs: 1.5, responseHash: 'cd'.repeat(32), result: { on: true } }];
  }

  note(event: string, data: AuditNote['data'] = {}): AuditNote {
    return { kind: 'note', event, atMs: this.journal.clock.now(), data };
  }

  /** Records `count` calls with their outcomes. */
  async fill(store: AuditStore, count: number): Promise<void> {
    for (let n = 0; n < count; n++) await Promise.all(this.call().map((entry) => store.record(entry)));
  }

  warnings(): readonly unknown[] {
    return this.journal.warnings.map(({ data }) => data.warning);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    await this.journal[Symbol.asyncDispose]();
  }
}
