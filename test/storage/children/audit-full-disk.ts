import { cpSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/core/clock.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { AuditStore } from '../../../src/storage/audit/audit-store.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { journalParts } from '../storage-services.ts';

/** Fills the disk it is given with rows until one is refused, makes room, goes on, starts again; says what it saw as JSON. */
const directory = process.argv[2] ?? '';
const ballast = join(directory, 'ballast');
const anchors = new MemoryKeyValueStore(new ManualClock());
const collaborators = { clock: systemClock, logger: silentLogger, events: { emit() {} }, anchors, ...journalParts(directory) };
const open = async () => {
  const audit = new AuditStore(collaborators, {
    directory,
    snapshotDirectory: join(directory, 'snapshots'),
    hubId: 'hub-0123456789abcdef',
  });
  await audit.start();
  return audit;
};
const note = (audit: AuditStore, n: number) => audit.record({ kind: 'note', event: 'n', atMs: n, data: { n, text: 'x'.repeat(3_000) } });
const reasonOf = (error: unknown) => (error instanceof AtmoError ? `${error.code} ${error.details.cause}` : `unexpected: ${String(error)}`);

writeFileSync(ballast, Buffer.alloc(300_000));
const audit = await open();
let [acknowledged, refused] = [0, 0];
let refusal = '';
for (let n = 0; n < 2_000 && refused < 5; n++) {
  try {
    await note(audit, n);
    acknowledged++;
  } catch (error) {
    refused++;
    refusal = reasonOf(error);
  }
}
const problemsWhileFull = collaborators.problems.list();
// As a kill would leave it, with room again.
const killedAt = mkdtempSync(join(tmpdir(), 'atmo-killed-'));
cpSync(directory, killedAt, { recursive: true, filter: (path) => path !== ballast });
const next = new AuditStore(
  { ...collaborators, ...journalParts(killedAt), anchors: new MemoryKeyValueStore(new ManualClock()) },
  { directory: killedAt, snapshotDirectory: join(killedAt, 'snapshots'), hubId: 'hub-0123456789abcdef' },
);
await next.start();
const missingAfterKill = next.read({ limit: 5 }).find(({ content }) => content.event === 'audit.resumed')?.content.data;
await next[Symbol.asyncDispose]();
rmSync(killedAt, { recursive: true });
const frontBytes = statSync(join(directory, 'audit.front')).size;
rmSync(ballast);
await note(audit, 0);
const problemsAfter = collaborators.problems.list();
const { intact } = await audit.verify();
const missing = audit.read({ limit: 2 })[1]?.content.data;
await audit[Symbol.asyncDispose]();
const again = await open();
const kept = again.read({ limit: 1_000, kind: 'note' }).filter(({ content }) => content.event === 'n').length;
const { intact: isStillIntact } = await again.verify();
await again[Symbol.asyncDispose]();
const seen = { acknowledged, refused, refusal, frontBytes, intact, missing, kept, isStillIntact };
process.stdout.write(JSON.stringify({ ...seen, problemsWhileFull, problemsAfter, missingAfterKill }));
