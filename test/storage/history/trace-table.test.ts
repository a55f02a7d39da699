import { copyFileSync, existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TraceRow } from '../../../src/core/storage/trace-rows.ts';
import { MemoryTraceRows } from '../../memory-trace-rows.ts';
import { seededRandom } from '../../seeded-random.ts';
import { AuditLogFixture } from '../storage-fixture.ts';

const EVER = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, limit: 1_000 };

function madeRows(count: number): readonly TraceRow[] {
  const random = seededRandom(11);
  return Array.from({ length: count }, (_, index) => {
    const atMs = 1_000_000 + Math.floor(random() * 1_000);
    const [agent = '', kind = 'fired'] = [['', 'hall', 'ann/bot'][index % 3], (['fired', 'near'] as const)[index % 2]];
    return {
      id: index + 1,
      agent,
      kind,
      atMs,
      lastMs: atMs + Math.floor(random() * 200),
      count: 1 + (index % 4),
      content: { text: '“ü”', index },
    };
  });
}

test('traces on the disk answer and are deleted as those in memory are, also after the hub was killed', async () => {
  await using fixture = new AuditLogFixture();
  const { traces } = await fixture.history();
  const memory = new MemoryTraceRows();
  const rows = madeRows(120);
  for (const batch of [rows.slice(0, 70), rows.slice(50)]) for (const one of [traces, memory]) one.write(batch, 2_000_000);
  await using after = new AuditLogFixture();
  for (const name of ['history.db', 'history.db-wal'])
    if (existsSync(fixture.path(name))) copyFileSync(fixture.path(name), after.path(name));
  const { traces: resumed } = await after.history();
  expect(resumed.known()).toEqual({ lastId: 120, aliveMs: 2_000_000 });
  const compared = () => {
    for (const agent of ['', 'hall', 'ann/bot', 'nobody']) {
      for (const query of [EVER, { fromMs: 1_000_300, toMs: 1_000_500, limit: 5 }]) {
        expect(resumed.read({ agent, ...query })).toEqual(memory.read({ agent, ...query }));
      }
    }
  };
  compared();
  for (const one of [resumed, memory]) one.drop({ sinceMs: 1_000_200, perAgent: { fired: 12, near: 7 }, total: 50 });
  compared();
  expect(memory.rows.size).toBeGreaterThan(20);
});

test('a file without traces knows no time at which the hub ran', async () => {
  await using fixture = new AuditLogFixture();
  expect((await fixture.history()).traces.known()).toEqual({ lastId: 0, aliveMs: undefined });
});
