import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A tool that notes each run on the disk, waits, and answers what it was given, with a picture where one is wanted. */
const COUNTER = `
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export function createTool({ file }) {
  return {
    definition: {
      name: 'count',
      namespace: 'lab',
      description: 'Counts each of its runs in a file.',
      parameters: {
        type: 'object',
        required: ['ticket'],
        properties: {
          ticket: { type: 'string', description: 'Noted on the disk' },
          wait_ms: { type: 'integer', description: 'Time that the run takes', minimum: 0, maximum: 20000, default: 0 },
          picture_bytes: { type: 'integer', description: 'Size of a picture', minimum: 0, maximum: 4000000, default: 0 },
        },
        additionalProperties: false,
      },
      returns: {
        type: 'object',
        properties: { ticket: { type: 'string' }, picture: { type: 'string', contentEncoding: 'base64' } },
      },
      permissions: ['lab:count'],
      execution: { timeout_ms: 30000, idempotent: false, side_effects: true },
    },
    async execute({ ticket, wait_ms = 0, picture_bytes = 0 }) {
      appendFileSync(file, ticket + '\\n');
      if (wait_ms > 0) await sleep(wait_ms);
      return { ticket, ...(picture_bytes > 0 && { picture: randomBytes(picture_bytes).toString('base64') }) };
    },
  };
}`;

/** Gives a hub the tool `lab:count_NAME`, NAME being the hub: no other hub has it. */
export function writeLabTools(stateDir: string): void {
  const name = stateDir.split('/').at(-1) ?? '';
  writeFileSync(join(stateDir, 'counter.mjs'), COUNTER, { mode: 0o600 });
  const entry = { name: `count_${name}`, source: 'file:./counter.mjs', config: { file: countFile(stateDir) } };
  writeFileSync(join(stateDir, 'tools.yaml'), JSON.stringify({ tools: [entry] }), { mode: 0o600 });
}

/** The tickets of all runs, in order. */
export function runsOf(stateDir: string): readonly string[] {
  const file = countFile(stateDir);
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean) : [];
}

function countFile(stateDir: string): string {
  return join(stateDir, 'runs.log');
}
