import { describe, expect, test } from 'vitest';
import { NO_HOME_NAMES } from '../../../src/core/devices/device-names.ts';
import { lintDefinition } from '../../../src/tools/definition/definition-lint.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { approvalsSaying } from '../../calls/approvals-fake.ts';
import { agent, codeOf, makePipeline, owner, settled } from '../../calls/pipeline-fixture.ts';
import { GpioFixture } from './gpio-fixture.ts';

const HOME = `
gpio:
  outputs:
    pump: { line: 4, max_seconds: 600, title: Garden pump, area: Garden }
    siren: { line: 5, risk: dangerous }
    heater_lock: { line: 6, safe: on }
`;

const PENDING = {
  state: 'pending',
  approvalId: 'ap-1',
  expiresAt: '2026-01-01T00:05:00Z',
  waitsForS: 600,
  needed: 1,
  given: 0,
  summary: 'kitchen wants it',
  willDo: [],
} as const;

async function home(yaml = HOME) {
  const gpio = new GpioFixture(yaml);
  await gpio.gpio.service.start();
  const tools = makePipeline({ clock: gpio.clock, approvals: approvalsSaying(PENDING) });
  for (const tool of gpio.gpio.tools(NO_HOME_NAMES)) tools.registry.register(tool);
  const call = async (tool: string, params = {}, principal = owner) => tools.pipeline.call({ principal, tool, params });
  return { ...tools, gpio, call };
}

describe('tools of outputs', () => {
  test('are three for each, without a complaint of the lint', async () => {
    const { gpio } = await home();
    expect(gpio.gpio.tools(NO_HOME_NAMES).map(({ id }) => id)).toEqual(
      ['pump', 'siren', 'heater_lock'].flatMap((name) => ['turn_on', 'turn_off', 'pulse'].map((action) => `gpio:${name}_${action}@1.0.0`)),
    );
    const validator = new SchemaValidator();
    for (const { definition } of gpio.gpio.tools(NO_HOME_NAMES)) expect(lintDefinition(definition, validator), definition.name).toEqual([]);
  });

  test('set the line and return its state', async () => {
    const { call, gpio } = await home();
    expect(await call('gpio:pump_turn_on')).toMatchObject({ status: 'success', result: { output: 'pump', is_on: true } });
    expect(gpio.isHigh(4)).toBe(true);
    expect(await call('gpio:pump_turn_off')).toMatchObject({ result: { is_on: false } });
    expect(gpio.isHigh(4)).toBe(false);
  });

  test('are for who may control that output', async () => {
    const { call, gpio } = await home();
    expect(codeOf(await call('gpio:pump_turn_on', {}, agent('device:control:siren')))).not.toBe('success');
    expect(gpio.isHigh(4)).toBe(false);
    expect(codeOf(await call('gpio:pump_turn_on', {}, agent('device:control:pump')))).toBe('success');
  });

  test('can be undone unless the output was on for a time, which would then be for ever', async () => {
    const { call, pipeline } = await home();
    const undo = async (tool: string) => (await pipeline.rehearse({ principal: owner, tool, params: {} })).undo;
    expect(await undo('gpio:pump_turn_on')).toEqual({ possible: true });
    await call('gpio:pump_turn_on');
    expect(await undo('gpio:pump_turn_off')).toMatchObject({ possible: false });
    await call('gpio:heater_lock_turn_off');
    expect(await undo('gpio:heater_lock_turn_on')).toEqual({ possible: true });
  });

  test('turn on for a time, and not longer than the owner allows', async () => {
    const { call, gpio } = await home();
    await call('gpio:pump_turn_on', { for_seconds: 30 });
    gpio.clock.advance(30_000);
    expect(gpio.isHigh(4)).toBe(false);
    await call('gpio:pump_turn_on', { for_seconds: 86_400 });
    gpio.clock.advance(600_000);
    expect(gpio.isHigh(4)).toBe(false);
  });

  test('a later call ends the time of an earlier one', async () => {
    const { call, gpio } = await home();
    await call('gpio:pump_turn_on', { for_seconds: 30 });
    gpio.clock.advance(20_000);
    await call('gpio:pump_turn_on', { for_seconds: 30 });
    gpio.clock.advance(20_000);
    expect(gpio.isHigh(4)).toBe(true);
    gpio.clock.advance(10_000);
    expect(gpio.isHigh(4)).toBe(false);
  });

  test('a pulse leaves the safe state and comes back to it, whichever that is', async () => {
    const { call, gpio } = await home();
    for (const [tool, offset, safe] of [
      ['gpio:pump_pulse', 4, false],
      ['gpio:heater_lock_pulse', 6, true],
    ] as const) {
      const answer = call(tool, { duration_ms: 250 });
      await settled();
      expect(gpio.isHigh(offset)).toBe(!safe);
      gpio.clock.advance(250);
      expect(await answer).toMatchObject({ status: 'success', result: { is_on: safe } });
      expect(gpio.isHigh(offset)).toBe(safe);
    }
  });

  test('a call during a pulse wins over its end', async () => {
    const { call, gpio } = await home();
    const pulse = call('gpio:pump_pulse', { duration_ms: 250 });
    await settled();
    await call('gpio:pump_turn_on');
    expect(await pulse).toMatchObject({ result: { is_on: true } });
    gpio.clock.advance(1000);
    expect(gpio.isHigh(4)).toBe(true);
  });

  test('a pulse that its caller cancels ends at once', async () => {
    const { call, gpio, pipeline } = await home();
    const stop = new AbortController();
    const pulse = pipeline.call({ principal: owner, tool: 'gpio:pump_pulse', params: { duration_ms: 9000 }, signal: stop.signal });
    await settled();
    expect(gpio.isHigh(4)).toBe(true);
    stop.abort();
    expect(codeOf(await pulse)).not.toBe('success');
    await settled();
    expect(gpio.isHigh(4)).toBe(false);
    expect(codeOf(await call('gpio:pump_turn_on'))).toBe('success');
  });

  test('a call that leaves the safe state of a dangerous output needs an approval, the way back does not', async () => {
    const { call, gpio } = await home();
    expect(codeOf(await call('gpio:siren_turn_on'))).toBe('APPROVAL_REQUIRED');
    expect(codeOf(await call('gpio:siren_pulse'))).toBe('APPROVAL_REQUIRED');
    expect(gpio.isHigh(5)).toBe(false);
    expect(codeOf(await call('gpio:siren_turn_off'))).toBe('success');
  });

  test('without their chip are listed as unavailable, and say why', async () => {
    const { call, gpio } = await home('gpio: { outputs: { pump: { line: 99 } } }');
    expect(gpio.gpio.tools(NO_HOME_NAMES).map(({ isAvailable }) => isAvailable?.())).toEqual([false, false, false]);
    expect(codeOf(await call('gpio:pump_turn_on'))).toBe('DEVICE_UNREACHABLE');
  });

  test('nothing is set after the hub has stopped', async () => {
    const { call, gpio } = await home();
    await call('gpio:pump_turn_on');
    await gpio.gpio.service[Symbol.asyncDispose]();
    expect(gpio.isHigh(4)).toBe(false);
    expect(codeOf(await call('gpio:pump_turn_on'))).toBe('DEVICE_UNREACHABLE');
    expect(gpio.isHigh(4)).toBe(false);
  });
});
