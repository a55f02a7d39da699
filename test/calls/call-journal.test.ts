import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../src/core/errors.ts';
import type { AuditSink } from '../../src/core/storage/audit-sink.ts';
import { agent, makePipeline, makeTool, owner, settled } from './pipeline-fixture.ts';

/** Everything that is written, notes included. */
function everything() {
  const written: Parameters<AuditSink['record']>[0][] = [];
  const audit: AuditSink = { record: async (entry) => void written.push(entry) };
  return { written, audit };
}

const limited = () => {
  const { written, audit } = everything();
  let isFull = true;
  const rateLimiter = {
    left: () => [],
    charge: () => {
      if (isFull) throw new AtmoError('RATE_LIMITED', 'Too many calls');
    },
  };
  const setup = makePipeline({ rateLimiter, audit });
  setup.registry.register(makeTool({}));
  return { ...setup, audited: written, relax: () => (isFull = false) };
};

describe('what the journal keeps of a flood', () => {
  test('of one caller in ten seconds: the first refusal, and a note of how many more', async () => {
    const { pipeline, audited, clock } = limited();
    const call = (principal = agent('x:y')) => pipeline.call({ principal, tool: 'probe', params: {} });
    for (let n = 0; n < 50; n++) await call();
    await call(owner);
    expect(audited.map((entry) => entry.kind)).toEqual(['refusal', 'refusal']);
    clock.advance(10_000);
    await settled();
    expect(audited.slice(2)).toMatchObject([{ kind: 'note', event: 'call.rate_limited', principalId: 'agent-1', data: { count: 49 } }]);
    await call();
    expect(audited).toHaveLength(4);
  });

  test('every other refusal is a row', async () => {
    const { pipeline, audited, relax } = limited();
    relax();
    for (let n = 0; n < 3; n++) await pipeline.call({ principal: agent(), tool: 'nothing', params: {} });
    expect(audited).toMatchObject(Array(3).fill({ kind: 'refusal', error: 'TOOL_NOT_FOUND' }));
  });
});

test('a call that was sent twice leaves a note that nothing ran again', async () => {
  const { written: audited, audit } = everything();
  const { pipeline, registry } = makePipeline({ audit });
  registry.register(makeTool({}));
  const call = () => pipeline.call({ principal: owner, tool: 'probe', params: {}, idempotencyKey: 'k' });
  await call();
  await call();
  expect(audited.map(({ kind }) => kind)).toEqual(['intent', 'outcome', 'note']);
  expect(audited.at(-1)).toMatchObject({ event: 'call.repeated', principalId: 'owner', data: { tool: 'core:probe@1.0.0' } });
});
