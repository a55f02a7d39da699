import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { ManualClock } from '../../manual-clock.ts';
import { type AgentFixture, codeOf, ENOUGH, restarted, resultOf, SENSOR, startedFixture, WHEN_HOT } from '../agent-fixture.ts';

const why = async (fixture: AgentFixture, extra: JsonObject = {}): Promise<JsonObject> =>
  resultOf(await fixture.call('explain_automation', { agent_id: 'auto', ...extra }));

describe('an automation that did not run', () => {
  test('because a condition was false says which, with the value that it saw', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn({ ...WHEN_HOT, conditions: [{ type: 'reading', sensor_id: SENSOR, above: 30 }] });
    await fixture.report(26);
    expect(fixture.calls).toEqual([]);
    const answer = await why(fixture);
    expect(answer).toMatchObject({ outcome: 'did_not_run', cause: 'condition_false', value: 26, unit: '°C' });
    expect(answer.condition).toMatchObject({ type: 'reading', sensor_id: SENSOR, above: 30 });
    expect(answer.summary).toBe('It did not run at 00:00 because Hall temperature showed 26 °C and it needs more than 30 °C.');
    expect(answer.traces).toHaveLength(1);
  });
});

test('a moment is told as a time of day, an ISO time, or how long ago it was', async () => {
  const fixture = await startedFixture({ timeZone: 'Europe/Berlin' });
  await fixture.report(20);
  await fixture.spawn({ ...WHEN_HOT, conditions: [{ type: 'flag', flag: 'night' }] }, { permissions: [...ENOUGH, 'flag:read:night'] });
  await fixture.pass(120);
  await fixture.report(26);
  await fixture.pass(7200);
  for (const at of ['01:02', '2h', '120 min', '2026-01-01T00:02:00Z', '2026-01-01T01:02+01:00']) {
    expect((await why(fixture, { at })).summary).toBe('It did not run at 01:02 because the flag night was no and it needs yes.');
  }
  expect(await why(fixture, { at: '1h' })).toMatchObject({ outcome: 'not_triggered', cause: 'already_there', value: 26 });
});

describe('who asks', () => {
  const explain = (fixture: AgentFixture, permissions: readonly string[], extra: JsonObject = {}) =>
    fixture.call('explain_automation', { agent_id: 'auto', ...extra }, fixture.agentWith('asker', permissions));

  test('without the permission to read the sensor sees neither its value nor its name', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn({ ...WHEN_HOT, conditions: [{ type: 'reading', sensor_id: SENSOR, above: 31.625 }] });
    await fixture.report(28.375);
    const answer = await explain(fixture, ['agent:configure:auto']);
    expect(resultOf(answer)).toMatchObject({ outcome: 'did_not_run', cause: 'condition_false', trigger: { type: 'reading' } });
    expect(resultOf(answer).summary).toBe('It did not run at 00:00 because a condition did not hold that you may not look at.');
    for (const secret of ['28.375', '31.625', 'Hall', 'hall', '°C']) expect(JSON.stringify(resultOf(answer)).includes(secret)).toBe(false);
    expect(resultOf(await explain(fixture, ['agent:configure:auto', `sensor:read:${SENSOR}`]))).toMatchObject({ value: 28.375 });
  });

  test('without that permission does not learn what the value was compared with in an expression either', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn({ ...WHEN_HOT, conditions: [{ type: 'expression', expr: 'trigger.value > 31.625' }] });
    await fixture.report(28.375);
    expect((await why(fixture)).summary).toBe('It did not run at 00:00 because it was not so that trigger.value > 31.625.');
    expect(JSON.stringify(resultOf(await explain(fixture, ['agent:configure:auto'])))).not.toContain('31.625');
  });

  test('does not learn that a sensor nearly set it off that the caller may not read', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn({ ...WHEN_HOT, trigger: { type: 'reading', sensor_id: SENSOR, above: 25, for_seconds: 60 } });
    for (const value of [26, 20]) await fixture.report(value);
    expect(await why(fixture)).toMatchObject({ cause: 'for_seconds_interrupted', value: 20 });
    const answer = resultOf(await explain(fixture, ['agent:configure:auto']));
    expect(answer).toMatchObject({ cause: 'nothing_came', traces: [] });
    expect(answer.facts).toEqual({});
  });

  test('without making the automation or administering agents learns why a run failed, and no text, tool, step or trace of it', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn(WHEN_HOT);
    fixture.onLamp(() => Promise.reject(new AtmoError('CONFLICT', 'Bedroom lamp: brightness is 40 %')));
    await fixture.report(26);
    const bell = resultOf(await explain(fixture, ['agent:configure:auto', `sensor:read:${SENSOR}`]));
    expect(bell).toMatchObject({ outcome: 'ran', cause: 'step_failed', summary: 'It ran at 00:00 and stopped because a step failed.' });
    expect(bell).not.toHaveProperty('trace_id');
    expect(bell).not.toHaveProperty('step');
    expect(JSON.stringify(bell)).not.toMatch(/Bedroom|lamp|CONFLICT/);
    const admin = resultOf(await explain(fixture, ['agent:configure:auto', 'admin:agents']));
    expect(admin).toMatchObject({ step: '0', trace_id: expect.any(String), summary: expect.stringContaining('brightness is 40 %') });
  });

  test('needs the permission for the automation', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT);
    expect(codeOf(await explain(fixture, ['agent:configure:other']))).toBe('PERMISSION_DENIED');
    expect(codeOf(await fixture.call('explain_automation', { agent_id: 'nobody' }))).toBe('NOT_FOUND');
    expect(codeOf(await fixture.call('explain_automation', { agent_id: 'auto', at: '2030-01-01T00:00:00Z' }))).toBe('VALIDATION_ERROR');
  });

  test('sees nothing of an earlier automation of the same name', async () => {
    const fixture = await startedFixture();
    await fixture.report(20);
    await fixture.spawn(WHEN_HOT);
    await fixture.report(26);
    await fixture.pass(60);
    await fixture.call('kill_agent', { agent_id: 'auto' });
    await fixture.spawn(WHEN_HOT);
    expect(await why(fixture)).toMatchObject({ outcome: 'not_triggered', cause: 'already_there', traces: [] });
  });
});

test('a time at which a board without a battery for its clock was off is not told as late', async () => {
  const clock = new ManualClock();
  const before = await startedFixture({ clock });
  await before.spawn({ ...WHEN_HOT, trigger: { type: 'time', at: '03:00' } }, { ttl_seconds: 86_400 });
  clock.advance(2 * 3_600_000);
  await before.runner[Symbol.asyncDispose]();
  await before.traces[Symbol.asyncDispose]();
  clock.kill();
  let isTrusted = false;
  const after = await restarted(before, { isTimeTrusted: () => isTrusted });
  await after.pass(60);
  clock.correctBy(3 * 3_600_000);
  isTrusted = true;
  await after.pass(120);
  expect((await why(after, { at: '03:00' })).summary).toBe('It did not run at 03:00 because the hub was off from 02:00 to 05:00.');
});

describe('an automation that does nothing now', () => {
  test('says so for each of its triggers', async () => {
    const fixture = await startedFixture({ timeZone: 'Europe/Berlin' });
    await fixture.report(20);
    const trigger = [
      { type: 'reading', sensor_id: SENSOR, above: 25 },
      { type: 'time', at: '07:00' },
    ];
    await fixture.spawn({ ...WHEN_HOT, trigger });
    expect((await why(fixture)).summary).toBe(
      'It was not set off at 01:00 because Hall temperature showed 20 °C and it needs more than 25 °C; and this was not its time: the next one is 07:00.',
    );
  });

  test('says who disabled it, and since when it rests', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT);
    await fixture.call('set_agent_enabled', { agent_id: 'auto', enabled: false });
    await fixture.pass(3600);
    expect(await why(fixture)).toMatchObject({ cause: 'disabled', at: '2026-01-01T00:00:00.000Z', facts: { by: 'owner' } });
  });
});
