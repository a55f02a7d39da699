import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { HubError } from '../../../src/web/api/hub-client.ts';
import { CallUndo, type UndoEnd } from '../../../src/web/api/undo.ts';

const CALLS = { traceId: 'ab'.repeat(16), label: 'Turn on Hall lamp' };
const LAMP_OFF = { device_id: 'hall-lamp', name: 'is_on', unit: '', now: true, expected: false };
const PLAIN = { outcome: 'would_run', risk: 'low', effects: [], changes: [LAMP_OFF], calls: [] };
const FLAG = { tool: 'core:set_flag', effects: [{ target: 'core:set_flag@1.0.0', permission: 'flag:set:vacation_mode', risk: 'low' }] };
const OF_FLAG = { ...PLAIN, changes: [], calls: [FLAG] };

function undoOf(preview: JsonObject, answer: Json | undefined = { elsewhere: [] }) {
  const asked: string[] = [];
  const made: { tool: string; params: JsonObject; label: string }[] = [];
  const ends: UndoEnd[] = [];
  const undo = new CallUndo({
    hub: {
      post: async <Answer>(path: string) => {
        asked.push(path);
        return preview as Answer;
      },
    },
    call: async (request) => {
      made.push(request);
      return answer;
    },
    labelOf: (label) => `Undo ${label}`,
  });
  undo.onEnd((end) => ends.push(end));
  return { undo, asked, made, ends };
}

describe('an undo', () => {
  test('that is plain is made at once, after it was rehearsed', async () => {
    const { undo, asked, made, ends } = undoOf(PLAIN);
    await undo.undo(CALLS);
    expect(asked).toEqual(['/api/v1/tools/hub%3Aundo/invoke?rehearse=true']);
    expect(made).toEqual([{ tool: 'hub:undo', params: { trace_id: CALLS.traceId }, label: 'Undo Turn on Hall lamp' }]);
    expect(ends).toEqual([{ ...CALLS, elsewhere: [] }]);
    expect(undo.question).toBeUndefined();
  });

  test.each([
    ['is dangerous', { ...PLAIN, risk: 'dangerous' }, CALLS],
    ['needs an approval', { ...PLAIN, outcome: 'needs_approval' }, CALLS],
    ['is refused', { ...PLAIN, outcome: 'would_be_refused', error: { code: 'CONFLICT', message: 'no', details: {} } }, CALLS],
    ['may change what is not known', { ...PLAIN, changes: [{ ...LAMP_OFF, unforeseen: true }] }, CALLS],
    ['undoes several calls', PLAIN, { ...CALLS, calls: 2 }],
    ['puts back a device and what the hub keeps', { ...PLAIN, calls: [FLAG] }, CALLS],
    ['brings back several things that the hub keeps', { ...OF_FLAG, calls: [FLAG, FLAG] }, CALLS],
  ])('that %s asks the person first', async (_what, preview, calls) => {
    const { undo, made } = undoOf(preview);
    await undo.undo(calls);
    expect(made).toEqual([]);
    expect(undo.question).toMatchObject({ ...calls, preview });
    await undo.confirm();
    expect(made).toHaveLength(1);
    expect(undo.question).toBeUndefined();
  });

  test('that the person does not want is not made', async () => {
    const { undo, made } = undoOf({ ...PLAIN, risk: 'dangerous' });
    await undo.undo(CALLS);
    undo.dismiss();
    await undo.confirm();
    expect(made).toEqual([]);
  });

  test('that waits for an approval has no outcome yet', async () => {
    const { undo, made, ends } = undoOf(PLAIN);
    const waiting = new CallUndo({ hub: { post: async <Answer>() => PLAIN as Answer }, call: async () => undefined, labelOf: String });
    waiting.onEnd((end) => ends.push(end));
    await waiting.undo(CALLS);
    expect({ ends, made, question: undo.question }).toEqual({ ends: [], made: [], question: undefined });
  });

  test('that the hub cannot rehearse ends with the error', async () => {
    const error = new HubError('HUB_UNREACHABLE', 'away');
    const failing = new CallUndo({ hub: { post: () => Promise.reject(error) }, call: async () => null, labelOf: String });
    const ends: UndoEnd[] = [];
    failing.onEnd((end) => ends.push(end));
    await failing.undo(CALLS);
    expect(ends).toEqual([{ ...CALLS, error }]);
    expect(await failing.isOffered(CALLS)).toBe(false);
  });
});

describe('an undo is offered', () => {
  test.each([
    ['if something would be put back', PLAIN, true],
    ['if somebody has to approve it', { ...PLAIN, outcome: 'needs_approval' }, true],
    ['if the person may not read what is put back', { ...PLAIN, changes: [{ device_id: 'a', name: 'is_on', unit: '' }] }, true],
    ['if it brings back what is no value of a device', OF_FLAG, true],
    ['not if it would be refused', { ...PLAIN, outcome: 'would_be_refused' }, false],
    ['not if all is as it was', { ...PLAIN, changes: [{ ...LAMP_OFF, expected: true }] }, false],
  ])('%s', async (_when, preview, isOffered) => {
    expect(await undoOf(preview).undo.isOffered(CALLS)).toBe(isOffered);
  });

  test('only for the last call', async () => {
    const { undo } = undoOf(PLAIN);
    expect(await Promise.all([undo.isOffered(CALLS), undo.isOffered(CALLS)])).toEqual([false, true]);
  });
});
