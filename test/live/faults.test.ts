import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CallAnswer } from '../../src/calls/request-and-answer.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { until } from '../matter/device-hub.ts';
import { RunningHub } from './running-hub.ts';

const TURN_ON = 'matter:living_room_lamp_turn_on';
const TOGGLE = 'matter:living_room_lamp_toggle';
const SET_BRIGHTNESS = 'matter:living_room_lamp_set_brightness';
const UNREACHABLE = ['DEVICE_UNREACHABLE', 'OUTCOME_UNKNOWN'];
/** The last repetition of a message by the protocol comes 13 s after the first (Core §4.12.8, five transmissions). */
const LAST_REPETITION_MS = 14_000;

let dir: string;
let home: VirtualHome;
let hub: RunningHub;
let lamp: VirtualDevice;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'faults-'));
  const spec = homeOf(standardHome(), ['Living room lamp', 'Bedroom lamp']);
  [home, hub] = await Promise.all([
    VirtualHome.start({ spec, dir: join(dir, 'home') }),
    RunningHub.start({ stateDir: join(dir, 'state') }),
  ]);
  lamp = home.device('Living room lamp');
  expect((await commission(lamp.pairing.qrCode, 'Living room lamp')).status).toBe('success');
});
beforeEach(async () => {
  await lamp.linkUp();
  await until(async () => (await reachability()) === 'reachable');
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

function commission(code: string, name: string): Promise<CallAnswer> {
  return hub.call('hub:commission_device', { code, name, accept_attestation: true });
}

async function reachability(): Promise<unknown> {
  return ((await hub.get('/api/v1/devices/living-room-lamp')) as JsonObject).reachability;
}

async function toggles(): Promise<number> {
  return (await lamp.commands()).filter(({ command }) => command === 'toggle').length;
}

/** The first event of the stream that says so. */
async function told(stream: Response, text: string): Promise<unknown> {
  let received = '';
  for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    received += chunk;
    const line = received.split('\n').find((candidate) => candidate.startsWith('data:') && candidate.includes(`"${text}"`));
    if (line !== undefined && received.endsWith('\n')) return JSON.parse(line.slice('data:'.length));
  }
  return undefined;
}

const codeOf = (answer: CallAnswer): string => (answer.status === 'error' ? answer.error.code : 'success');
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** When a toggle failed because the device does not answer; undefined when it succeeded. */
async function failure(): Promise<number | undefined> {
  const code = codeOf(await hub.call(TOGGLE));
  expect(['success', ...UNREACHABLE]).toContain(code);
  return code === 'success' ? undefined : performance.now();
}

async function timed<Result>(work: Promise<Result>): Promise<{ readonly result: Result; readonly tookMs: number }> {
  const startedMs = performance.now();
  const result = await work;
  return { result, tookMs: performance.now() - startedMs };
}

describe('a setup code', () => {
  test('of a wrong digit, of an unknown passcode, and already used is refused with the reason', async () => {
    expect(await commission('MT:NONSENSE', 'x')).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    expect(await commission('12345678901', 'x')).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    const bedroom = home.device('Bedroom lamp');
    const wrong = await timed(
      hub.call('hub:commission_device', { passcode: 20_000_000, discriminator: bedroom.pairing.discriminator, accept_attestation: true }),
    );
    expect(wrong.result).toMatchObject({ error: { code: 'COMMISSIONING_FAILED', details: { reason: 'wrong_passcode' } } });
    expect(wrong.tookMs).toBeLessThan(10_000);
    const used = await timed(commission(lamp.pairing.qrCode, 'Again'));
    expect(used.result).toMatchObject({ error: { code: 'COMMISSIONING_FAILED', details: { advice: expect.stringMatching(/share/) } } });
    expect(JSON.stringify(used.result)).toMatch(/"reason":"(not_found|window_closed)"/);
    expect(used.tookMs).toBeLessThan(35_000);
  });

  test('of a device that is not there ends at the deadline of the call', async () => {
    const { result, tookMs } = await timed(
      hub.call('hub:commission_device', { passcode: 20_000_001, discriminator: 4000 }, { query: '?timeout_ms=2000' }),
    );
    expect(['CANCELLED', 'TIMEOUT', 'COMMISSIONING_FAILED']).toContain(codeOf(result));
    expect(tookMs).toBeLessThan(4_000);
  });
});

describe('parameters', () => {
  test('out of range, of the wrong type, unknown and missing: field, allowed values and an example', async () => {
    const message = async (params: JsonObject): Promise<string> => {
      const answer = await hub.call(SET_BRIGHTNESS, params);
      expect(codeOf(answer)).toBe('VALIDATION_ERROR');
      return answer.status === 'error' ? `${answer.error.message} ${JSON.stringify(answer.error.details)}` : '';
    };
    const explained = /"brightness".*1 to 100 %.*for example \d+/;
    expect(await message({ brightness: 101 })).toMatch(explained);
    expect(await message({ brightness: 'bright' })).toMatch(explained);
    expect(await message({})).toMatch(explained);
    expect(await message({ brightness: 40, speed: 3 })).toMatch(/"speed".*brightness/s);
    expect((await lamp.commands()).filter(({ cluster }) => cluster === 'LevelControl')).toEqual([]);
  });

  test('an unknown tool and an ambiguous device name are answered with the candidates', async () => {
    expect(await hub.call('living_room_lamp_turnon')).toMatchObject({
      error: { code: 'TOOL_NOT_FOUND', message: expect.stringContaining('living_room_lamp_turn_on') },
    });
    const bedroom = home.device('Bedroom lamp');
    expect((await commission(bedroom.pairing.qrCode, 'Living room lamp')).status).toBe('success');
    expect(await hub.call('hub:ping_device', { device_id: 'Living room lamp' })).toMatchObject({
      error: { code: 'AMBIGUOUS_DEVICE', details: { candidates: ['living-room-lamp', 'living-room-lamp-2'] } },
    });
    await hub.result('hub:remove_device', { device_id: 'living-room-lamp-2' });
  });
});

describe('many calls', () => {
  test('100 parallel toggles are 100 commands in the device', async () => {
    const before = await toggles();
    const answers = await Promise.all(Array.from({ length: 100 }, () => hub.call(TOGGLE)));
    expect(Map.groupBy(answers, codeOf).get('success')).toHaveLength(100);
    expect(await toggles()).toBe(before + 100);
  });

  test('one idempotency key is one command, also at the same time; with other parameters it is refused', async () => {
    const before = await toggles();
    const repeat = () => hub.call(TOGGLE, {}, { headers: { 'idempotency-key': 'once' } });
    const together = await Promise.all(Array.from({ length: 5 }, repeat));
    const later = await repeat();
    expect(new Set([...together, later].map((answer) => JSON.stringify(answer.status === 'success' && answer.result))).size).toBe(1);
    expect(together.map(codeOf)).toEqual(Array(5).fill('success'));
    expect(await toggles()).toBe(before + 1);
    expect(codeOf(await hub.call(SET_BRIGHTNESS, { brightness: 30 }, { headers: { 'idempotency-key': 'once' } }))).toBe(
      'IDEMPOTENCY_CONFLICT',
    );
  });

  test('a job tells how it ends', async () => {
    const job = (await hub.call(TURN_ON, {}, { query: '?async=true' })) as unknown as { job_id: string };
    await until(async () => ((await hub.get(`/api/v1/jobs/${job.job_id}`)) as JsonObject).status === 'succeeded');
    expect(await lamp.get(1, 'OnOff', 'OnOff')).toBe(true);
  });
});

describe('a device without link', () => {
  test('fails each call within 5 s, by deadline sooner, by cancellation at once, and nothing runs later', async () => {
    const before = await toggles();
    await lamp.linkDown();
    const cutMs = performance.now();
    const short = timed(hub.call(TOGGLE, {}, { query: '?timeout_ms=500' }));
    const job = (await hub.call(TOGGLE, {}, { query: '?async=true' })) as unknown as { job_id: string };
    const cancelled = timed(hub.request(`/api/v1/jobs/${job.job_id}`, { method: 'DELETE' }));
    expect((await short).tookMs).toBeLessThan(1_500);
    expect([...UNREACHABLE, 'TIMEOUT']).toContain(codeOf((await short).result));
    expect((await cancelled).tookMs).toBeLessThan(1_000);
    await until(async () => ['cancelled', 'failed'].includes(String(((await hub.get(`/api/v1/jobs/${job.job_id}`)) as JsonObject).status)));

    for (const call of ['first', 'second', 'third']) {
      const { result, tookMs } = await timed(hub.call(TOGGLE));
      expect(UNREACHABLE, `${call}: ${JSON.stringify(result)}`).toContain(codeOf(result));
      expect(tookMs, call).toBeLessThan(5_000);
    }
    await until(async () => (await reachability()) === 'unreachable');
    expect(performance.now() - cutMs).toBeLessThan(15_000);
    const tries = await Promise.all(Array.from({ length: 40 }, () => timed(hub.call(TOGGLE))));
    for (const { result, tookMs } of tries) {
      expect(UNREACHABLE).toContain(codeOf(result));
      expect(tookMs).toBeLessThan(5_000);
    }
    await lamp.linkUp();
    // It does not know that it was cut off and announces nothing: the hub has to look for it.
    const [backMs] = await Promise.all([until(async () => (await reachability()) === 'reachable'), pause(LAST_REPETITION_MS)]);
    expect(backMs).toBeLessThan(10_000);
    expect(await toggles()).toBe(before);
    expect(codeOf(await hub.call(TURN_ON))).toBe('success');
  });
});

describe('a device without power', () => {
  test('in the middle of calls fails them within 5 s; on another port it is usable 5 s after it is back', async () => {
    const events = await hub.request('/api/v1/events?types=device.reachability');
    const running = Array.from({ length: 30 }, failure);
    await Promise.race(running);
    await lamp.powerOff();
    const cutMs = performance.now();
    const failedMs = (await Promise.all([...running, failure()])).filter((endedMs) => endedMs !== undefined);
    const firstMs = Math.min(...failedMs);
    expect(firstMs - cutMs).toBeLessThan(5_000);
    // Those in line wait from the last answer of the device on: they fail with the first, not 4.5 s after it.
    expect(Math.max(...failedMs) - firstMs).toBeLessThan(2_500);
    expect(await told(events, 'unreachable')).toMatchObject({ type: 'device.reachability', subject: 'living-room-lamp' });
    expect(performance.now() - cutMs).toBeLessThan(15_000);
    await lamp.powerOn({ port: 5777 });
    const usableMs = await until(async () => codeOf(await hub.call(TURN_ON)) === 'success');
    console.info(`usable ${usableMs.toFixed(0)} ms after it announced itself on another port`);
    expect(usableMs).toBeLessThan(5_000);
    expect(await lamp.get(1, 'OnOff', 'OnOff')).toBe(true);
  });
});
