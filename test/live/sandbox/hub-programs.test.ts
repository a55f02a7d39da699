import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';
import { RunningHub } from '../running-hub.ts';

const bubblewrap = findDebianTool('bwrap')?.path;
const CONFIG = `
matter: { enabled: false }
connectors:
  sandbox:
    bubblewrap: ${bubblewrap}
    commands:
      greet:
        description: Greets somebody.
        argv: [/bin/echo, hello, "{name}"]
        parameters: { name: { type: string, description: Who, pattern: "^[a-z]{1,20}$" } }
        approval: false
`;
const MANIFEST = `
tools:
  - name: doubled
    source: js:doubled.js
    config: { factor: 2 }
    definition:
      description: Multiplies a number.
      parameters: { type: object, required: [n], properties: { n: { type: number, description: Which } } }
      execution: { side_effects: false, determinism: deterministic, max_fuel: 1000000, max_memory_bytes: 4194304 }
`;
const SCRIPT = 'export const execute = ({ n }, { factor }) => { if (n < 0) for (;;) {} return { value: n * factor }; };';
const RECORD = {
  id: 'tool_word_count',
  name: 'Word count',
  description: 'Counts the words of a text.',
  input_schema: { stdin: 'string' },
  output_schema: {},
  permissions: ['proc:exec'],
  safety_level: 'low',
  exec: { type: 'cmd', cmd: '/usr/bin/wc', args: ['-w'] },
};

describe.skipIf(!bubblewrap)('a hub whose owner switched the sandbox on', () => {
  let dir: string;
  let hub: RunningHub;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'hub-programs-'));
    mkdirSync(join(dir, 'state'), { mode: 0o700 });
    for (const [name, text] of Object.entries({ 'config.yaml': CONFIG, 'tools.yaml': MANIFEST, 'doubled.js': SCRIPT })) {
      writeFileSync(join(dir, 'state', name), text, { mode: 0o600 });
    }
    hub = await RunningHub.start({ stateDir: join(dir, 'state') });
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });

  test('runs a command that the owner named', async () => {
    expect(await hub.result('command:greet', { name: 'world' })).toMatchObject({ stdout: 'hello world\n' });
    expect(await hub.call('command:greet', { name: '; id' })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  });

  test('interprets a script of the manifest, and ends it when it goes on for ever', async () => {
    expect(await hub.result('doubled', { n: 21 })).toEqual({ value: 42 });
    expect(await hub.call('doubled', { n: -1 })).toMatchObject({ error: { code: 'RESOURCE_EXCEEDED' } });
    expect(await hub.result('doubled', { n: 4 })).toEqual({ value: 8 });
  });

  test('runs the program of a record that came over HTTP, with its text on standard input', async () => {
    const response = await hub.request('/api/v1/tools', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(RECORD),
    });
    expect([response.status, await response.text()]).toEqual([201, expect.any(String)]);
    expect(JSON.stringify(await hub.result('tool_word_count', { stdin: 'one two three' }))).toContain('3');
  });
});
