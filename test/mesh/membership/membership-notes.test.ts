import { expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { EventBus } from '../../../src/core/events.ts';
import { createLogger } from '../../../src/core/logger.ts';
import type { AuditSink } from '../../../src/core/storage/audit-sink.ts';
import { auditMembershipChanges } from '../../../src/mesh/membership/membership.ts';
import { ManualClock } from '../../manual-clock.ts';

test('joins with an invite and revocations by other hubs are written to the audit log, until the listener stops', async () => {
  const clock = new ManualClock();
  const events = new EventBus('test', clock);
  const written: unknown[] = [];
  const audit: AuditSink = { record: async (entry) => void written.push(entry) };
  const time = { now: () => clock.now(), isTrusted: () => true };
  const stop = auditMembershipChanges({ events, audit, time, logger: createLogger('error', () => {}) });
  events.emit('mesh.changed', 'mesh-1', { change: 'joined', hub_id: 'hub-2', name: 'attic' });
  events.emit('mesh.changed', 'mesh-1', { change: 'created' });
  events.emit('peer.changed', 'hub-2', { change: 'joined' });
  stop();
  events.emit('mesh.changed', 'mesh-1', { change: 'revoked', hub_id: 'hub-2' });
  expect(written).toEqual([
    {
      kind: 'note',
      event: 'mesh.joined',
      atMs: clock.now(),
      data: { mesh_id: 'mesh-1', change: 'joined', hub_id: 'hub-2', name: 'attic' },
    },
  ]);
});

test('a failure to write the audit log is logged', async () => {
  const clock = new ManualClock();
  const events = new EventBus('test', clock);
  const lines: string[] = [];
  const audit = { record: () => Promise.reject(new AtmoError('STORAGE_FAILED', 'The disk is full')) };
  const time = { now: () => clock.now(), isTrusted: () => true };
  auditMembershipChanges({ events, audit, time, logger: createLogger('error', (line) => lines.push(line)) });
  events.emit('mesh.changed', 'mesh-1', { change: 'revoked', hub_id: 'hub-2' });
  await new Promise(setImmediate);
  expect(lines.join()).toMatch(/audit.note_failed.*The disk is full/);
});
