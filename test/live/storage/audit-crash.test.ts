import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import type { AuditRow } from '../../../src/core/storage/audit-log.ts';
import { AuditStore } from '../../../src/storage/audit/audit-store.ts';
import { AuditLogFixture } from '../../storage/storage-fixture.ts';

const CHILD = join(import.meta.dirname, '../../storage/children/audit-load.ts');
/** More with ATMO_AUDIT_KILLS, for who has the time. */
const KILLS = Number(process.env.ATMO_AUDIT_KILLS ?? 5);

/** Lets the child work until it has acknowledged `calls` and kills it with SIGKILL; answers all that it acknowledged: request id and hash. */
async function workUntilKilled(directory: string, calls: number): Promise<ReadonlyMap<string, string>> {
  const child = spawn(process.execPath, [CHILD, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const acknowledged = new Map<string, string>();
  for await (const line of createInterface({ input: child.stdout })) {
    const [request = '', hash = ''] = line.split(' ');
    if (hash.length === 64) acknowledged.set(request, hash);
    if (acknowledged.size === calls) child.kill('SIGKILL');
  }
  expect((await exited)[1]).toBe('SIGKILL');
  return acknowledged;
}

function allRows(audit: AuditStore): readonly AuditRow[] {
  const rows: AuditRow[] = [];
  for (let before = audit.head().seq + 1; before > 1; before = rows.at(-1)?.seq ?? 0) rows.push(...audit.read({ before, limit: 1_000 }));
  return rows;
}

/** Calls with more or less than one intent and one end, by request id. */
function unbalanced(rows: readonly AuditRow[]): readonly string[] {
  const open = new Map<string, number>();
  for (const { kind, request = '' } of rows)
    if (kind !== 'note') open.set(request, (open.get(request) ?? 0) + (kind === 'intent' ? 1 : -1));
  return [...open].filter(([, count]) => count !== 0).map(([request]) => request);
}

test(
  `killed with SIGKILL under load ${KILLS} times, the journal holds every answered call, closes the others and verifies`,
  async () => {
    await using fixture = new AuditLogFixture();
    const acknowledged = new Map<string, string>();
    let cutOff = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      for (const [request, hash] of await workUntilKilled(fixture.directory, 1 + kill * 37)) acknowledged.set(request, hash);
      await using anchors = await fixture.state();
      const places = { directory: fixture.directory, snapshotDirectory: fixture.snapshotDirectory };
      await using audit = new AuditStore({ ...fixture.collaborators, anchors }, { ...places, hubId: 'hub-0123456789abcdef' });
      await audit.start();
      const rows = allRows(audit);
      const kept = new Map(rows.filter(({ kind }) => kind === 'outcome').map(({ request, content }) => [request, content.response_hash]));
      expect([...acknowledged].filter(([request, hash]) => kept.get(request) !== hash)).toEqual([]);
      expect(unbalanced(rows)).toEqual([]);
      expect(await audit.verify()).toMatchObject({ intact: true, rows: rows.length });
      cutOff = rows.filter(({ content }) => content.error === 'OUTCOME_UNKNOWN').length;
    }
    expect(cutOff).toBeGreaterThan(0);
    expect(fixture.warnings).toEqual([]);
  },
  60_000 + KILLS * 30_000,
);
