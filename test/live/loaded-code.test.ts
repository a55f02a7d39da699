import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { MAIN } from './main-program.ts';
import { RunningHub } from './running-hub.ts';

/** A text that only the code of each of them contains. */
const MARKS = { matter: 'Client networking is not initialized', libp2p: '/meshsub/1.1.0' };

const dir = mkdtempSync(join(tmpdir(), 'loaded-code-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Writes the address of each module that the process loads to a file. */
const hooks = (file: string) =>
  `data:text/javascript,${encodeURIComponent(`
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
registerHooks({ load: (url, context, next) => { appendFileSync(${JSON.stringify(file)}, url + '\\n'); return next(url, context); } });
`)}`;

/** Returns which of the two a hub with this configuration has loaded when it answers, and after `use`. */
async function loadedBy(name: string, config: JsonObject, use = async (_hub: RunningHub) => {}): Promise<readonly string[]> {
  const list = join(dir, `${name}.txt`);
  rmSync(list, { force: true });
  const hub = await RunningHub.start({ stateDir: join(dir, name), config, env: { NODE_OPTIONS: `--import=${hooks(list)}` } });
  await use(hub);
  await hub.stop();
  const files = readFileSync(list, 'utf8')
    .split('\n')
    .filter((url) => url.startsWith('file:'))
    .map((url) => fileURLToPath(url));
  expect(files).toContain(MAIN);
  return found(files);
}

function found(files: readonly string[]): readonly string[] {
  const texts = files.map((file) => readFileSync(file, 'utf8'));
  return Object.entries(MARKS).flatMap(([name, mark]) => (texts.some((text) => text.includes(mark)) ? [name] : []));
}

test('a hub without Matter and without a mesh loads neither matter.js nor libp2p, which are in its bundle', async () => {
  const chunks = readdirSync(dirname(MAIN)).filter((file) => file.endsWith('.mjs'));
  expect(found(chunks.map((file) => join(dirname(MAIN), file)))).toEqual(['matter', 'libp2p']);
  expect(await loadedBy('neither', { matter: { enabled: false } })).toEqual([]);
});

test('a hub with Matter that was never used loads neither, also for questions about devices', async () => {
  const ask = async (hub: RunningHub) => {
    for (const tool of ['hub:list_credentials', 'hub:list_updates', 'hub:network_topology']) {
      expect(await hub.call(tool), tool).toMatchObject({ status: 'success' });
    }
  };
  expect(await loadedBy('unused', {}, ask)).toEqual([]);
});

test('a hub loads matter.js when Matter is used first, and from then on at its start', async () => {
  const use = async (hub: RunningHub) => {
    expect(await hub.call('hub:set_wifi_credentials', { name: 'home', ssid: 'home', password: 'a password' })).toMatchObject({
      status: 'success',
    });
  };
  expect(await loadedBy('matter', {}, use)).toEqual(['matter']);
  expect(await loadedBy('matter', {})).toEqual(['matter']);
});
