import { expect, test } from 'vitest';
import { TRACE_CAUSES } from '../../../src/automations/traces/trace.ts';
import { isoTime } from '../../../src/core/clock.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { ManualClock } from '../../manual-clock.ts';
import { type AgentFixture, codeOf, restarted, resultOf, startedFixture } from '../agent-fixture.ts';
import { KINDS, kindOf, PERMISSIONS, post, type Scene } from './non-run-generator.ts';

/** Seeds of the test; `NON_RUNS=500` tries that many. */
const SEEDS = Number(process.env.NON_RUNS ?? Math.max(50, KINDS.length));
const NOISE: readonly JsonObject[] = [
  { type: 'webhook', name: 'noise' },
  { type: 'device_event', device_id: 'lamp', event: 'Noise' },
  { type: 'hub_start' },
];

/** Makes the automation and its history with one reason, and asks for it. */
async function asked(seed: number): Promise<JsonObject> {
  const { kind, random } = kindOf(seed);
  const home = kind.home?.() ?? {};
  const clock = new ManualClock();
  const scene: Scene = {
    hub: await startedFixture({ clock, ...home }),
    random,
    async restart(how, seconds) {
      if (how === 'stop') await stop(scene.hub);
      clock.kill();
      clock.advance(seconds * 1000);
      scene.hub = await restarted(scene.hub, home);
    },
  };
  const config = kind.config(random);
  const noise = kind.isAlone ? [] : NOISE.slice(0, Math.floor(random() * 4));
  const trigger = [...[config.trigger].flat(), ...noise] as JsonObject[];
  const spawned = await scene.hub.spawn({ ...config, trigger }, { permissions: PERMISSIONS, ttl_seconds: 7 * 86_400 });
  expect(codeOf(spawned)).toBe('success');
  await makeNoise(scene, noise.length);
  await scene.hub.passMinutes(15);
  const truth = await kind.plant(scene, { ...config, trigger });
  await scene.hub.passMinutes(20);
  if (!kind.staysUp && random() < 0.4) await scene.restart(random() < 0.5 ? 'stop' : 'kill', 60);
  await makeNoise(scene, noise.length);
  const answer = resultOf(await scene.hub.call('explain_automation', { agent_id: 'auto', at: isoTime(truth.atMs) }));
  return { seed, expected: kind.cause, ...(truth.value !== undefined && { expectedValue: truth.value }), answer };
}

async function makeNoise(scene: Scene, count: number): Promise<void> {
  if (count > 0) await post(scene, 'noise');
  if (count > 1) scene.hub.events.emit('device.event', 'lamp', { event: 'Noise', cluster: 'Test', data: {}, at_ms: scene.hub.clock.now() });
  await scene.hub.pass(1);
}

async function stop({ runner, traces }: AgentFixture): Promise<void> {
  await runner[Symbol.asyncDispose]();
  await traces[Symbol.asyncDispose]();
}

test('every cause is planted, but those that need a hub with other settings', () => {
  const planted = new Set(KINDS.map(({ cause }) => cause));
  expect(TRACE_CAUSES.filter((cause) => !planted.has(cause))).toEqual(['not_resumed', 'token_ended', 'no_place']);
});

test(`the true reason of ${SEEDS} automations that did not run is told, with its value`, { timeout: 600_000 }, async () => {
  const wrong: JsonObject[] = [];
  for (let seed = 0; seed < SEEDS; seed++) {
    const told = await asked(seed);
    const { cause, value = null } = told.answer as JsonObject;
    const isValueTrue = told.expectedValue === undefined || JSON.stringify(told.expectedValue) === JSON.stringify(value);
    if (cause !== told.expected || !isValueTrue) wrong.push(told);
  }
  expect(wrong).toEqual([]);
});
