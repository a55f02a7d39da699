import { describe, expect, test } from 'vitest';
import type { AuditLog, AuditQuery, AuditRow } from '../../../src/core/storage/audit-log.ts';
import { auditTools } from '../../../src/tools/builtin/audit-tools.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';

const HASH = 'ab'.repeat(32);
const HEAD = { hub: 'hub-1', seq: 9, hash: HASH, at: '2026-01-01T00:00:00.000Z' };

function row(seq: number, extra: Partial<AuditRow> = {}): AuditRow {
  return { seq, at: '2026-01-01T00:00:00.000Z', kind: 'note', hash: HASH, hub: 'hub-1', content: { event: 'rules.loaded' }, ...extra };
}

function room(rows: readonly AuditRow[] = []) {
  const asked: unknown[] = [];
  const log: AuditLog = {
    read: (query: AuditQuery) => {
      asked.push(query);
      return rows.filter(({ seq }) => seq < (query.before ?? 1e9)).slice(0, query.limit);
    },
    head: () => HEAD,
    verify: async (expected) => {
      asked.push(expected);
      return { intact: false, rows: 9, head: HEAD, problem: { seq: 4, reason: 'the rows 4 to 5 were removed' } };
    },
  };
  const { registry, pipeline } = makePipeline();
  for (const tool of auditTools(log)) expect(registry.register(tool)).toEqual([]);
  const call = (tool: string, params: unknown, principal = owner) => pipeline.call({ principal, tool, params });
  return { call, asked };
}

describe('read_audit', () => {
  test('hands every filter on, times in milliseconds', async () => {
    const { call, asked } = room();
    const filters = { agent: 'bot', tool: 'core:echo@1.0.0', request: 'r', kind: 'refusal', before: 7, limit: 3 };
    await call('read_audit', { ...filters, since: '2026-01-01T00:00:00Z', until: '2026-01-02T01:00:00+01:00' });
    expect(asked).toEqual([{ ...filters, sinceMs: Date.UTC(2026, 0, 1), untilMs: Date.UTC(2026, 0, 2) }]);
  });

  test('says where the next page begins until the last one', async () => {
    const { call } = room([row(5), row(4), row(3)]);
    expect(await call('read_audit', { limit: 2 })).toMatchObject({ result: { rows: [{ seq: 5 }, { seq: 4 }], next_before: 4 } });
    const last = await call('read_audit', { limit: 2, before: 4 });
    expect(last).toMatchObject({ result: { rows: [{ seq: 3 }] } });
    expect(last).not.toHaveProperty('result.next_before');
  });

  test('ends a page before it is larger than an answer may be', async () => {
    const content = { params: { text: 'x'.repeat(30_000) } };
    const { call } = room(Array.from({ length: 400 }, (_, index) => row(400 - index, { content })));
    const answer = await call('read_audit', { limit: 400 });
    expect(answer).toMatchObject({ result: { next_before: 372 } });
  });

  test('refuses a time that there is not', async () => {
    expect(await room().call('read_audit', { since: '2026-12-31T23:59:60Z' })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  });
});

describe('the head', () => {
  test('is told as it is', async () => {
    expect(await room().call('audit_head', {})).toMatchObject({ result: HEAD });
  });

  test('that was kept elsewhere is what the chain is held against', async () => {
    const { call, asked } = room();
    expect(await call('verify_audit', { seq: 4, hash: HASH.toUpperCase() })).toMatchObject({
      result: { intact: false, rows: 9, head: HEAD, problem: { seq: 4, reason: 'the rows 4 to 5 were removed' } },
    });
    await call('verify_audit', {});
    expect(asked).toEqual([{ seq: 4, hash: HASH }, undefined]);
  });

  test('is number and hash, not one of them', async () => {
    for (const half of [{ seq: 4 }, { hash: HASH }]) {
      expect(await room().call('verify_audit', half)).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    }
  });
});

test.each(['read_audit', 'audit_head', 'verify_audit'])('%s needs admin:audit', async (tool) => {
  const { call, asked } = room();
  expect(await call(tool, {}, agent('*'))).toMatchObject({ status: 'error' });
  expect(asked).toEqual([]);
  expect(await call(tool, {}, agent('admin:audit'))).toMatchObject({ status: 'success' });
});
