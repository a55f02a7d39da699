import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/core/clock.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { AuditStore } from '../../../src/storage/audit/audit-store.ts';
import { StateStore } from '../../../src/storage/state-store.ts';
import { defineTool, p } from '../../../src/tools/definition/define-tool.ts';
import { agent, makePipeline } from '../../calls/pipeline-fixture.ts';
import { journalParts } from '../storage-services.ts';

/**
 * Calls a tool through the whole pipeline without end, sixteen at a time, with a real journal; says the request id of each
 * call once it is answered. Calls take up to some milliseconds, so that a kill always cuts some off.
 */
const directory = process.argv[2] ?? '';
const collaborators = { clock: systemClock, logger: silentLogger, events: { emit() {} }, ...journalParts(directory) };
const places = { directory, snapshotDirectory: join(directory, 'snapshots') };
const anchors = new StateStore(collaborators, places);
await anchors.start();
const audit = new AuditStore({ ...collaborators, anchors }, { ...places, hubId: 'hub-0123456789abcdef' });
await audit.start();
const { registry, pipeline } = makePipeline({ clock: systemClock, audit });
const wait = defineTool(
  {
    name: 'switch',
    title: 'Switch',
    description: 'Switches something',
    category: 'acting',
    hasSideEffects: true,
    permissions: ['device:control'],
    parameters: { ms: p.integer({ description: 'How long it takes', minimum: 0, maximum: 100, unit: 'ms' }) },
  },
  ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(ms), ms)),
);
registry.register(wait);
const principal = agent('device:control');
const caller = async (name: number) => {
  for (let n = 0; ; n++) {
    const requestId = `${process.pid}-${name}-${n}`;
    const answer = await pipeline.call({ principal, tool: 'switch', params: { ms: (name + n) % 5 }, requestId });
    writeSync(1, `${requestId} ${answer.response_hash}\n`);
  }
};
await Promise.all(Array.from({ length: 16 }, (_, name) => caller(name)));
