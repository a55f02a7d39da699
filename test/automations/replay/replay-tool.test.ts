import { expect, test } from 'vitest';
import { OWNER } from '../../../src/core/auth/principal.ts';
import { codeOf, ENOUGH, resultOf, startedFixture, WHEN_HOT } from '../agent-fixture.ts';

test('the replay of a living automation and of a draft say that nothing was kept', async () => {
  const fixture = await startedFixture();
  await fixture.spawn(WHEN_HOT);
  const incomplete = [{ kind: 'no_readings', id: 'hall-sensor/temperature', text: 'No reading of Hall temperature was kept' }];
  const expected = { runs: 0, nights: 0, list: [], incomplete, since: new Date(fixture.clock.now() - 30 * 86_400_000).toISOString() };
  expect(resultOf(await fixture.call('replay_automation', { agent_id: 'auto' }))).toEqual(expected);
  expect(resultOf(await fixture.call('replay_automation', { config: WHEN_HOT, permissions: ENOUGH }))).toEqual(expected);
  expect(fixture.calls).toEqual([]);
});

test('a caller learns nothing of sensors and automations that it may not see', async () => {
  const fixture = await startedFixture();
  await fixture.spawn(WHEN_HOT);
  const stranger = fixture.agentWith('stranger', ['device:control:lamp', 'agent:replay:house']);
  const overseer = fixture.agentWith('overseer', ['admin:agents', 'agent:replay:house']);
  const draft = { config: WHEN_HOT, permissions: ['device:control:lamp'] };
  expect(codeOf(await fixture.call('replay_automation', { agent_id: 'auto' }, stranger))).toBe('NOT_FOUND');
  expect(codeOf(await fixture.call('replay_automation', { agent_id: 'auto' }, overseer))).toBe('SENSOR_NOT_FOUND');
  expect(codeOf(await fixture.call('replay_automation', draft, stranger))).toBe('SENSOR_NOT_FOUND');
  expect(codeOf(await fixture.call('replay_automation', { ...draft, permissions: ENOUGH }, stranger))).toBe('PERMISSION_DENIED');
  expect(codeOf(await fixture.call('replay_automation', {}, stranger))).toBe('VALIDATION_ERROR');
});

test('one agent with many replays leaves room for the replay of somebody else', async () => {
  const fixture = await startedFixture();
  const draft = {
    config: { trigger: { type: 'time', at: '07:30' }, actions: WHEN_HOT.actions ?? [] },
    permissions: ['device:control:lamp'],
  };
  const greedy = fixture.agentWith('greedy', ['agent:replay:house', 'device:control:lamp']);
  const own = Array.from({ length: 6 }, () => fixture.call('replay_automation', draft, greedy));
  expect(codeOf(await fixture.call('replay_automation', draft))).toBe('success');
  const codes = (await Promise.all(own)).map(codeOf);
  expect(codes.toSorted()).toEqual([...Array.from({ length: 4 }, () => 'RESOURCE_EXCEEDED'), 'success', 'success']);
});

test('an agent replays six times at once and then once in ten seconds, whatever its token says', async () => {
  const fixture = await startedFixture();
  const permissions = ['agent:replay:house', ...ENOUGH];
  const fast = { agentId: 'fast', permissions, ttlMs: 7_200_000, rateLimit: { calls: 10_000, seconds: 1 } };
  const agent = fixture.issuer.issue(fast, OWNER).principal;
  const replay = async () => codeOf(await fixture.call('replay_automation', { config: WHEN_HOT, permissions: ENOUGH }, agent));
  for (let count = 0; count < 6; count++) expect(await replay()).toBe('success');
  expect(await replay()).toBe('RATE_LIMITED');
  fixture.clock.advance(10_000);
  expect([await replay(), await replay()]).toEqual(['success', 'RATE_LIMITED']);
});
