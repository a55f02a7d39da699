import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { replayHash } from '../../../src/calls/replay.ts';
import { ScriptWorkerPool } from '../../../src/connectors/sandbox/script-worker-pool.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { loadManifest } from '../../../src/tools/manifest/tool-manifest.ts';
import { takenInMemory } from '../../taken-texts.ts';
import { programsFake } from './program-sandbox-fake.ts';

const EXECUTE = `async (params, context) => [
  context.clock.now(), Date.now(), new Date().getTime(), new Date(0).getTime(), typeof Date(),
  ...Array.from({ length: 5 }, () => context.random()), Math.random(),
]`;

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'world-'));
  mkdirSync(join(directory, 'own'), { mode: 0o700 });
  const write = (name: string, text: string) => writeFileSync(join(directory, 'own', name), text, { mode: 0o600 });
  write('dice.js', `const run = ${EXECUTE}; export const execute = (params, config, context) => run(params, context);`);
  write(
    'dice.mjs',
    `const execution = { side_effects: false, determinism: 'bounded', max_memory_bytes: 16777216 };
    export const createTool = () => ({ definition: { description: 'Rolls', parameters: { type: 'object' }, execution }, execute: ${EXECUTE} });`,
  );
});
afterAll(() => rmSync(directory, { recursive: true }));

const definition = (determinism: string) =>
  `    definition: { description: Rolls., parameters: { type: object }, execution: { side_effects: false, determinism: ${determinism} } }\n`;

async function load(entry: string) {
  const path = join(directory, 'tools.yaml');
  writeFileSync(path, `tools:\n  - name: dice\n${entry}`);
  const scripts = new ScriptWorkerPool({ clock: systemClock });
  const { tools, leftOut } = await loadManifest(path, {
    builtins: new Map(),
    allowedPlugins: [],
    scripts,
    programs: programsFake({ stdout: '' }),
    takenOf: takenInMemory(),
  });
  return { tool: tools[0], problems: leftOut.map(({ problem }) => problem) };
}

const RUN = { runId: 'one', logicalTimeMs: 1_700_000_000_000, randomSeed: '00112233445566778899aabbccddeeff' };

describe('time and chance of a bounded tool', () => {
  test.each([
    ['a script', `    source: js:./own/dice.js\n${definition('bounded')}`],
    ['a file in a process of its own', '    source: file:./own/dice.mjs\n'],
  ])('are those of its run for %s, so that replay gives the same answer', async (_what, entry) => {
    const { tool, problems } = await load(entry);
    expect(problems).toEqual([]);
    if (!tool) return;
    const first = await replayHash(tool, {}, RUN);
    expect(await replayHash(tool, {}, RUN)).toBe(first);
    for (const other of [{ logicalTimeMs: 1 }, { randomSeed: 'ff' }])
      expect(await replayHash(tool, {}, { ...RUN, ...other })).not.toBe(first);
  });

  test('are real ones for a tool that is declared otherwise', async () => {
    const { tool } = await load(`    source: js:./own/dice.js\n${definition('nondeterministic')}`);
    if (!tool) throw new Error('The tool was left out');
    expect(await replayHash(tool, {}, RUN)).not.toBe(await replayHash(tool, {}, RUN));
  });

  test('cannot be given to a program of the board, which is refused', async () => {
    expect((await load(`    source: cmd:/usr/bin/date\n${definition('bounded')}`)).problems).toEqual([
      expect.stringMatching(/^dice: A program cannot be "bounded"/),
    ]);
  });
});
