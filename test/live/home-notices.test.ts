import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { spokenService } from './connectors/spoken-service.ts';
import { RunningHub } from './running-hub.ts';

const LAMP = 'Living room lamp';
const DOOR = 'Front door';
const LEAK = 'Leak detector';
const RULES = 'rules:\n  - { name: ask for lamps, effect: approve, when: { device_type: light } }\n';
const LIMIT = { interval: 20, timeout: 20_000 };
const SOON_MS = 2_000;

interface Told {
  readonly topic: string;
  readonly message: string;
  readonly sequence_id: string;
}

const stack = new AsyncDisposableStack();
const told: Told[] = [];
let home: VirtualHome;
let hub: RunningHub;
let startHub: () => Promise<RunningHub>;
const about = (text: string) => told.filter(({ message }) => message.includes(text));

beforeAll(async () => {
  const dir = stack.adopt(mkdtempSync(join(tmpdir(), 'home-notices-')), (path) => rmSync(path, { recursive: true, force: true }));
  const ntfy = stack.use(
    await spokenService(({ body }) => {
      told.push(JSON.parse(body) as Told);
      return { status: 200, body: JSON.stringify({ id: String(told.length), event: 'message' }) };
    }),
  );
  const ways = Object.fromEntries(['phone', 'tablet'].map((topic) => [topic, { ntfy: { url: `${ntfy.url}/${topic}` } }]));
  const config = { sensors: { discover: false }, connectors: { notify: { recipients: { owner: { ways } } } } };
  home = stack.use(await VirtualHome.start({ spec: homeOf(standardHome(), [LAMP, DOOR, LEAK]), dir: join(dir, 'home') }));
  startHub = async () => stack.use(await RunningHub.start({ stateDir: join(dir, 'hub'), config }));
  mkdirSync(join(dir, 'hub'), { mode: 0o700 });
  writeFileSync(join(dir, 'hub/rules.yaml'), RULES, { mode: 0o600 });
  hub = await startHub();
  for (const { pairing, name } of home.devices) await hub.result('hub:commission_device', { code: pairing.qrCode, name });
});
afterAll(() => stack.disposeAsync());

/** Calls of a new agent, all at once. Each has to wait for people. */
async function ask(agent: string, calls: readonly (readonly [string, JsonObject])[]): Promise<void> {
  const { token } = await hub.result('hub:mint_token', { agent_id: agent, permissions: ['*'] });
  const headers = { authorization: `Bearer ${token}` };
  const answers = await Promise.all(calls.map(([tool, params]) => hub.call(tool, params, { headers, approve: false })));
  for (const answer of answers) expect(answer).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
}

const dim = (count: number) =>
  Array.from({ length: count }, (_, index) => ['living_room_lamp_set_brightness', { brightness: 10 + index }] as const);

/** The message says how many requests there were when it was sent, at most a second after the first; the notice has them all. */
async function expectCount(sent: Told | undefined, count: number): Promise<void> {
  const said = /\((\d+) requests like this wait\)/.exec(sent?.message ?? '')?.[1];
  expect(Number(said)).toBeGreaterThan(1);
  const noticed = async () => JSON.stringify(await hub.result('hub:list_notices'));
  await expect.poll(noticed, LIMIT).toContain(`(${count} requests like this wait)`);
}

test('ten requests of one agent for one lamp are one message with their number', async () => {
  await ask('claude', dim(10));
  await expect.poll(() => about('claude wants').length, LIMIT).toBe(1);
  await expectCount(about('claude wants')[0], 10);
});

test('nine requests for a lamp hide no unlock: it has a message of its own, which names the door', async () => {
  await ask('gemini', [...dim(9), ['front_door_unlock', {}]]);
  await expect.poll(() => about('gemini wants').length, LIMIT).toBe(2);
  const [unlock] = about('gemini wants').filter(({ message }) => message.includes(DOOR));
  const [lamp] = about('gemini wants').filter(({ message }) => message.includes(LAMP));
  expect(unlock?.message).not.toContain('requests like this');
  await expectCount(lamp, 9);
});

test('water is told at once over all ways, once while it lasts, also by a hub that was killed, and again when it comes back', async () => {
  // A hub that is killed before it noted that a message was taken sends it again under its id, by which a phone replaces it.
  const topics = () =>
    [...new Set(about('senses water').map(({ topic, sequence_id: id }) => `${topic} ${id}`))].map((one) => one.split(' ')[0]);
  const sense = (isLeaking: boolean) => home.device(LEAK).set(1, 'BooleanState', 'stateValue', isLeaking);
  const isSensed = async () => objectText(await hub.result('leak_detector_get_leak'));
  const startedMs = performance.now();
  await sense(true);
  await expect.poll(() => topics().sort(), LIMIT).toEqual(['phone', 'tablet']);
  expect(performance.now() - startedMs).toBeLessThan(SOON_MS);
  await hub.kill();
  hub = await startHub();
  await expect.poll(isSensed, LIMIT).toContain('true');
  await sense(false);
  await expect.poll(isSensed, LIMIT).toContain('false');
  expect(topics()).toHaveLength(2);
  await sense(true);
  await expect.poll(() => topics().sort(), LIMIT).toEqual(['phone', 'phone', 'tablet', 'tablet']);
});

const objectText = (value: JsonObject): string => JSON.stringify(value);
