import { describe, expect, test } from 'vitest';
import type { SettableTime, TimeStatus } from '../../../src/core/clock.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { clockTools } from '../../../src/tools/builtin/hub-administration-tools.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';

const NOW_MS = Date.UTC(2026, 4, 1, 12);
const UNTRUSTED: TimeStatus = { nowMs: NOW_MS, isTrusted: false, source: 'nothing', systemMs: 0, floorMs: NOW_MS };

function room(status: TimeStatus = UNTRUSTED) {
  let shown = status;
  const time: SettableTime = {
    status: () => shown,
    set: (timeMs) => {
      if (timeMs < NOW_MS) throw new AtmoError('VALIDATION_ERROR', 'too early');
      shown = { ...shown, nowMs: timeMs, isTrusted: true, source: 'owner' };
    },
  };
  const { registry, pipeline, audited } = makePipeline();
  for (const tool of clockTools(time)) expect(registry.register(tool)).toEqual([]);
  const call = (tool: string, params: unknown, principal = owner) => pipeline.call({ principal, tool, params });
  return { call, audited, status: () => shown };
}

describe('hub:clock_status', () => {
  test('tells the time and what to do while it is not trusted', async () => {
    expect(await room().call('hub:clock_status', {})).toMatchObject({
      result: {
        now: '2026-05-01T12:00:00.000Z',
        trusted: false,
        source: 'nothing',
        system: '1970-01-01T00:00:00.000Z',
        floor: '2026-05-01T12:00:00.000Z',
        advice: expect.stringContaining('atmo clock set'),
      },
    });
  });

  test('advises otherwise where a clock is believed but lies before the floor, and nothing where all is well', async () => {
    expect(await room({ ...UNTRUSTED, source: 'network' }).call('hub:clock_status', {})).toMatchObject({
      result: { advice: expect.stringContaining('before a time that has passed') },
    });
    const answer = await room({ ...UNTRUSTED, isTrusted: true }).call('hub:clock_status', {});
    expect(answer).toMatchObject({ status: 'success', result: expect.not.objectContaining({ advice: expect.anything() }) });
  });
});

describe('hub:set_clock', () => {
  test('sets the time, whatever its zone, answers what holds now, and stands in the journal', async () => {
    const { call, audited, status } = room();
    expect(await call('hub:set_clock', { time: '2026-05-02T02:00:00+02:00' })).toMatchObject({
      result: { now: '2026-05-02T00:00:00.000Z', trusted: true, source: 'owner' },
    });
    expect(status().nowMs).toBe(Date.UTC(2026, 4, 2));
    expect(audited.map(({ kind, toolId }) => [kind, toolId])).toEqual([
      ['intent', 'hub:set_clock@1.0.0'],
      ['outcome', 'hub:set_clock@1.0.0'],
    ]);
  });

  test.each(['2026-05-02', '2026-05-02T02:00:00', 'now', '2026-13-02T02:00:00Z', '1714600000000', ''])('refuses %j', async (time) => {
    const { call, status } = room();
    expect(await call('hub:set_clock', { time })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    expect(status()).toBe(UNTRUSTED);
  });

  test('hands on why a time is refused', async () => {
    expect(await room().call('hub:set_clock', { time: '2025-01-01T00:00:00Z' })).toMatchObject({ error: { message: 'too early' } });
  });

  test('belongs to the administration of the hub: an agent does not learn of it', async () => {
    const { call, status } = room();
    for (const principal of [agent('*'), agent('hub:*', 'admin:token', 'admin:device:*')]) {
      const answer = await call('hub:set_clock', { time: '2026-05-02T02:00:00Z' }, principal);
      expect(answer).toMatchObject({ status: 'error', error: { code: expect.stringMatching(/^(TOOL_NOT_FOUND|PERMISSION_DENIED)$/) } });
    }
    expect(status()).toBe(UNTRUSTED);
  });

  test('is for the owner alone: an agent that administers the hub brings no expired token to life', async () => {
    const { call, status } = room();
    expect(await call('hub:set_clock', { time: '2026-05-02T02:00:00Z' }, agent('admin:hub'))).toMatchObject({
      error: { code: 'PERMISSION_DENIED', message: expect.stringContaining('Only the owner') },
    });
    expect(status()).toBe(UNTRUSTED);
  });
});
