import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { type AgentFixture, resultOf, SENSOR, startedFixture, WHEN_HOT } from '../agent-fixture.ts';

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
