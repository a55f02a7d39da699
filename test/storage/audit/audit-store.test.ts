import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { canonicalJson } from '../../../src/codec/canonical-json.ts';
import { WalSync } from '../../../src/storage/audit/audit-store.ts';
import { AuditFixture } from '../audit-fixture.ts';

describe('the audit log of calls', () => {
  test('keeps who, with which tokens, what, why and how it ended', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    const [intent, outcome] = fixture.call({ decision: { approvedBy: ['ann'], approvalId: 'ap-1', rule: 'night' }, mustSync: true });
    await store.record(intent);
    await store.record(outcome);
    const [last, first] = store.read({ limit: 2 });
    expect(first).toMatchObject({
      seq: 2,
      at: '2026-01-01T00:00:00.000Z',
      kind: 'intent',
      hub: 'hub-0123456789abcdef',
      agent: 'lamp-bot',
      token: 'beef',
      chain: ['cafe', 'beef'],
      tool: 'matter:lamp_turn_on@1.0.0',
      request: 'request-1',
      trace: 'trace-request-1',
      content: {
        arguments_hash: 'ab'.repeat(32),
        params: { level: 40 },
        effects: [{ permission: 'device:control:lamp', risk: 'low', target: 'lamp/1/OnOff/On' }],
        decision: { approved_by: ['ann'], approval_id: 'ap-1', rule: 'night' },
        run: { run_id: 'request-1', random_seed: 'seed' },
        principal_kind: 'agent',
        must_sync: true,
      },
    });
    expect(last).toMatchObject({ kind: 'outcome', content: { duration_ms: 1.5, response_hash: 'cd'.repeat(32), result: { on: true } } });
  });

  test('anyone can recompute the chain from what readers get', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    await fixture.fill(store, 3);
    await store.record(fixture.note('token.refused', { why: 'ends in \ud800, "quoted"', n: -0, 'b\ud800': [null, false] }));
    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
    let hash = sha256('atmosphere-edge audit v1 hub-0123456789abcdef');
    for (const { hash: stated, ...row } of store.read({ limit: 100 }).toReversed()) {
      hash = sha256(hash + canonicalJson({ ...row }));
      expect(stated).toBe(hash);
    }
    expect(store.head()).toMatchObject({ seq: 8, hash });
  });

  test('entries of one turn come in order, each with a number of its own', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    await Promise.all(Array.from({ length: 50 }, (_, n) => store.record(fixture.note('n', { n }))));
    const rows = store.read({ limit: 50 });
    expect(rows.map(({ content }) => (content.data as { n: number }).n)).toEqual(Array.from({ length: 50 }, (_, n) => 49 - n));
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 50 }, (_, n) => 51 - n));
  });

  test('of two calls with the same times and names each row differs: the number is part of the hash', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    const note = fixture.note('same');
    await Promise.all([store.record(note), store.record(note)]);
    const [b, a] = store.read({ limit: 2 });
    expect(a?.hash).not.toBe(b?.hash);
  });

  test('a row that is too long omits the long members and names them', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    const [intent] = fixture.call({ params: { text: 'x'.repeat(100_000) } });
    await store.record(intent);
    const [row] = store.read({ limit: 1 });
    expect(row?.content).toMatchObject({ omitted: ['params'], arguments_hash: 'ab'.repeat(32) });
    expect(row?.content).not.toHaveProperty('params');
    expect(await store.verify()).toMatchObject({ intact: true });
  });

  test('names with zero bytes, half characters and endless length leave the chain whole', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    for (const toolId of ['a\0b', '\ud800', 'x'.repeat(5000), '5', '', 'null', "'; DROP TABLE entry; --", 'ä'.repeat(300)]) {
      for (const requestId of ['r\0', '00000000-0000-0000-0000-000000000000', '0'.repeat(32), '', toolId]) {
        const [intent, outcome] = fixture.call({ toolId, requestId });
        await store.record(intent);
        await store.record({ ...outcome, kind: 'refusal' });
      }
    }
    expect(await store.verify()).toMatchObject({ intact: true, rows: 81 });
  });

  test('is closed to entries after it stopped', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    await fixture.close();
    await expect(store.record(fixture.note('late'))).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  });
});

describe('secrets', () => {
  const SECRETS = [
    'at1.c2VjcmV0LXRva2VuLXRleHQtdGhhdC1ub2JvZHktbWF5LXNlZQ',
    'MT:Y.K90AFN00KA0648G00',
    '3497-011-2332',
    'a-key-nobody-needs',
    '47110815',
  ];

  test('given in any place are in none of the bytes on the disk', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    const [token = '', code = '', manual = ''] = SECRETS;
    const [intent, outcome] = fixture.call({
      params: { text: `use ${token}`, list: [code] },
      toolId: `x:${code}`,
      requestId: token,
      traceId: code,
      decision: { rule: token },
    });
    await store.record(intent);
    await store.record({ ...outcome, kind: 'refusal', message: `There is no tool ${token}, ${code} or ${manual}`, result: { code } });
    await store.record({
      ...fixture.note('token.refused', { pin: '47110815', text: token, code: [manual] }),
      principalId: token,
      traceId: code,
    });
    await fixture.close();
    const files = readdirSync(fixture.journal.directory, { withFileTypes: true }).filter((entry) => entry.isFile());
    const bytes = files.map(({ name }) => readFileSync(join(fixture.journal.directory, name), 'latin1')).join('');
    expect(bytes).toContain('token.refused');
    for (const secret of SECRETS) expect(bytes).not.toContain(secret);
    expect(await (await fixture.open()).verify()).toMatchObject({ intact: true });
  });
});

test('of the audit log one copy is kept, the newest', async () => {
  await using fixture = new AuditFixture();
  const store = await fixture.open();
  const taken: string[] = [];
  for (let day = 0; day < 3; day++) {
    await fixture.fill(store, 1);
    taken.push((await store.snapshot()).path);
    fixture.journal.clock.advance(86_400_000);
  }
  expect(readdirSync(fixture.journal.snapshotDirectory)).toEqual([basename(taken.at(-1) ?? '')]);
});

describe('what is committed', () => {
  test('of a dangerous intent is on the disk before it is acknowledged', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    const log: string[] = [];
    const now = vi.spyOn(WalSync.prototype, 'now').mockImplementation(async () => {
      log.push(`synced with ${store.head().seq} rows`);
    });
    const [intent] = fixture.call({ mustSync: true });
    await store.record(intent);
    log.push('acknowledged');
    now.mockRestore();
    expect(log).toEqual(['synced with 2 rows', 'acknowledged']);
  });

  test('that cannot be synced fails a dangerous intent and no other', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    const now = vi.spyOn(WalSync.prototype, 'now').mockRejectedValue(new TypeError('input/output error'));
    await expect(store.record(fixture.call({ mustSync: true })[0])).rejects.toThrow('input/output error');
    await store.record(fixture.call()[0]);
    now.mockRestore();
  });

  test('is synced within 250 ms, and not at all while nothing happens', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    fixture.journal.clock.advance(250);
    const now = vi.spyOn(WalSync.prototype, 'now').mockResolvedValue();
    fixture.journal.clock.advance(5_000);
    expect(now).toHaveBeenCalledTimes(0);
    await store.record(fixture.note('a'));
    await store.record(fixture.note('b'));
    fixture.journal.clock.advance(250);
    expect(now).toHaveBeenCalledTimes(1);
    now.mockRestore();
  });
});

describe('a start', () => {
  test('closes calls that were cut off as OUTCOME_UNKNOWN, each once', async () => {
    await using fixture = new AuditFixture();
    const store = await fixture.open();
    await fixture.fill(store, 3);
    const [twice] = fixture.call({ requestId: 'twice' });
    const [, once] = fixture.call({ requestId: 'twice' });
    const [open] = fixture.call({ requestId: 'open' });
    for (const entry of [twice, twice, once, open]) await store.record(entry);
    await fixture.close();
    const again = await fixture.open();
    const unknown = () => again.read({ limit: 100 }).filter(({ content }) => content.error === 'OUTCOME_UNKNOWN');
    expect(unknown().map(({ request, kind, agent, tool }) => [request, kind, agent, tool])).toEqual([
      ['open', 'outcome', 'lamp-bot', 'matter:lamp_turn_on@1.0.0'],
      ['twice', 'outcome', 'lamp-bot', 'matter:lamp_turn_on@1.0.0'],
    ]);
    await fixture.close();
    const third = await fixture.open();
    expect(third.read({ limit: 100 }).filter(({ content }) => content.error === 'OUTCOME_UNKNOWN')).toHaveLength(2);
    expect(await third.verify()).toMatchObject({ intact: true });
    expect(fixture.warnings()).toEqual([]);
  });

  test('is noted in the chain, the first one as its beginning', async () => {
    await using fixture = new AuditFixture();
    await fixture.open();
    await fixture.close();
    const store = await fixture.open();
    expect(store.read({ limit: 9 }).map(({ content }) => content.event)).toEqual(['audit.opened', 'audit.began']);
  });
});
