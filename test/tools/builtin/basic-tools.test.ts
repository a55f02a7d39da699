import { describe, expect, test } from 'vitest';
import type { CallAnswer } from '../../../src/calls/request-and-answer.ts';
import { basicTools } from '../../../src/tools/builtin/basic-tools.ts';
import { agent, makePipeline } from '../../calls/pipeline-fixture.ts';

function room() {
  const { registry, pipeline, clock } = makePipeline();
  for (const tool of basicTools) expect(registry.register(tool)).toEqual([]);
  const call = (tool: string, params: unknown): Promise<CallAnswer> => pipeline.call({ principal: agent(), tool, params });
  return { registry, clock, call };
}

describe('basic tools', () => {
  test('echo answers its input, whatever it is', async () => {
    for (const value of [null, 'x', [1, { a: true }]]) expect(await room().call('echo', { value })).toMatchObject({ result: value });
  });

  test('hash is BLAKE3: of the text’s bytes, or of the canonical JSON', async () => {
    const { call } = room();
    // Test vector of the BLAKE3 specification for the empty input.
    expect(await call('hash', { input: '' })).toMatchObject({ result: 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262' });
    const [one, other] = [await call('hash', { input: { b: 1, a: 2 } }), await call('hash', { input: { a: 2, b: 1 } })];
    expect(one.status === 'success' && one.result).toBe(other.status === 'success' && other.result);
  });

  test('current_time tells the hub’s clock in any time zone', async () => {
    const { call } = room();
    expect(await call('current_time', { time_zone: 'Europe/Berlin' })).toMatchObject({
      result: { utc: '2026-01-01T00:00:00.000Z', local: '2026-01-01 01:00:00', time_zone: 'Europe/Berlin' },
    });
    expect(await call('current_time', { time_zone: 'Mars/Base' })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  });

  test.each([
    ['add', 2, 3, 5],
    ['subtract', 2, 3, -1],
    ['multiply', 2, 3, 6],
    ['divide', 21, 2, 10.5],
  ])('calculator: %s', async (operation, operand1, operand2, result) => {
    expect(await room().call('calculator', { operation, operand1, operand2 })).toMatchObject({ result: { result } });
  });

  test('dividing by zero and overflowing are error answers', async () => {
    const { call } = room();
    expect(await call('calculator', { operation: 'divide', operand1: 1, operand2: 0 })).toMatchObject({
      status: 'error',
      error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('divide by zero') },
    });
    expect(await call('calculator', { operation: 'multiply', operand1: 1e200, operand2: 1e200 })).toMatchObject({ status: 'error' });
  });

  test('what is declared deterministic answers the same twice', async () => {
    const { registry, call } = room();
    const params = { echo: { value: { a: 1 } }, hash: { input: 'x' }, calculator: { operation: 'add', operand1: 0.1, operand2: 0.2 } };
    const deterministic = registry.list().tools.filter((tool) => tool.definition.execution.determinism === 'deterministic');
    expect(deterministic.map((tool) => tool.definition.name).sort()).toEqual(Object.keys(params).sort());
    for (const [name, given] of Object.entries(params)) {
      expect((await call(name, given)).response_hash).toBe((await call(name, given)).response_hash);
    }
  });
});
