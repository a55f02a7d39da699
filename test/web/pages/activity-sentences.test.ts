import { afterEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import type { AuditRow } from '../../../src/core/storage/audit-log.ts';
import { activitiesOf } from '../../../src/web/pages/activity-sentences.ts';
import de from '../../../src/web/texts/de.json' with { type: 'json' };
import en from '../../../src/web/texts/en.json' with { type: 'json' };
import { hasText, speak, text } from '../../../src/web/texts/text.ts';

const DEVICES = [
  { id: 'hall-lamp', name: 'Hall lamp', area: 'Hall' },
  { id: 'front-door', name: 'Front door', area: 'Hall' },
];
const LAMP_ON = [{ target: 'hall-lamp/1/OnOff/On', permission: 'device:control:hall-lamp' }];

let seq = 100;
function row(kind: AuditRow['kind'], content: JsonObject, more: Partial<AuditRow> = {}): AuditRow {
  seq -= 1;
  return {
    seq,
    at: '2026-05-03T12:04:00.000Z',
    kind,
    hash: '',
    hub: 'h',
    agent: 'Claude',
    tool: 'matter:hall_lamp_turn_on@1.0.0',
    content,
    ...more,
  };
}

const said = (rows: readonly AuditRow[], withReads = false) =>
  activitiesOf(rows, { devices: DEVICES, withReads }).map(({ agent, sentence, devices, tool }) => text(sentence, { agent, devices, tool }));

afterEach(() => speak('en', en));

describe('what happened', () => {
  test('is a sentence in the language of the page', () => {
    const rows = [row('intent', { effects: LAMP_ON })];
    expect(said(rows)).toEqual(['Claude turned on Hall lamp']);
    speak('de', de);
    expect(said(rows)).toEqual(['Claude hat Hall lamp eingeschaltet']);
  });

  test('is one thing for the two rows of a call, with how it ended and who approved it', () => {
    const rows = [
      row('outcome', { error: 'DEVICE_UNREACHABLE', message: 'no answer' }, { request: 'r-2' }),
      row('intent', { effects: LAMP_ON, decision: { approved_by: ['ann', 'ben'] } }, { request: 'r-2' }),
      row('outcome', { result: {} }, { request: 'r-1' }),
      row('intent', { effects: LAMP_ON }, { request: 'r-1' }),
      row('intent', { effects: LAMP_ON }, { request: 'r-0' }),
    ];
    const all = activitiesOf(rows, { devices: DEVICES, withReads: false });
    expect(all.map(({ state, reason, approvedBy, rows: own }) => [state, reason, approvedBy, own.length])).toEqual([
      ['failed', 'DEVICE_UNREACHABLE: no answer', 'ann and ben', 2],
      ['done', '', '', 2],
      ['unknown', '', '', 1],
    ]);
  });

  test('names the devices of a call for many, and counts what is too much for a sentence', () => {
    const effects = Array.from({ length: 11 }, (_none, index) => ({
      target: `lamp-${index}/1/OnOff/Off`,
      permission: `device:control:lamp-${index}`,
    }));
    expect(said([row('intent', { effects })])).toEqual(['Claude turned off lamp-0, lamp-1, lamp-2, lamp-3, and 7 more']);
  });

  test('has sentences for what only reads, for other tools, and for refusals', () => {
    const reads = [{ target: 'hall-lamp/1/OnOff/OnOff', permission: 'device:read:hall-lamp' }];
    const rename = { tool: 'hub:rename_device@1.0.0' };
    expect(
      said([
        row('intent', { effects: reads }),
        row('intent', { effects: [{ target: rename.tool, permission: 'admin:hub' }] }, rename),
        row('refusal', { error: 'PERMISSION_DENIED', message: 'no' }, { tool: 'matter:front_door_unlock@1.0.0' }),
        row('note', { event: 'hub.started' }),
      ]),
    ).toEqual(['Claude looked at Hall lamp', 'Claude used “rename device”', 'Claude was not allowed to use “front door unlock”']);
  });

  test('leaves out what the page reads for its lists, unless it is asked for, and never a refusal', () => {
    const tool = 'hub:list_approvals@1.0.0';
    const rows = [
      row('intent', { effects: [] }, { tool }),
      row('refusal', {}, { tool }),
      row('intent', {}, { tool: 'hub:remove_device@1.0.0' }),
      row('intent', {}, { tool: 'core:list_scenes@1.0.0' }),
      row('intent', {}, { tool: 'hub:recognised_devices@1.0.0' }),
    ];
    expect(said(rows)).toEqual(['Claude was not allowed to use “list approvals”', 'Claude used “remove device”']);
    expect(said(rows, true)).toHaveLength(5);
  });

  test.each([
    'OnOff/Toggle',
    'DoorLock/UnlockDoor',
    'WindowCovering/UpOrOpen',
    'Thermostat/OccupiedHeatingSetpoint',
    'RvcRunMode/ChangeToMode',
  ])('has a sentence of its own for %s', (element) => {
    const effects = [{ target: `hall-lamp/1/${element}`, permission: 'device:control:hall-lamp' }];
    const [activity] = activitiesOf([row('intent', { effects })], { devices: DEVICES, withReads: false });
    expect(activity?.sentence).toMatch(/^activity\.did_/);
    expect(hasText(activity?.sentence ?? '')).toBe(true);
  });

  describe('undo', () => {
    const undoOf = (rows: readonly AuditRow[]) => activitiesOf(rows, { devices: DEVICES, withReads: false }).map(({ undo }) => undo);
    const before = { 'hall-lamp': { '1/OnOff/OnOff': false } };

    test('is possible for a call with the values of before, and not for one without', () => {
      const rows = [
        row('intent', { effects: LAMP_ON, before }, { trace: 't-2' }),
        row('intent', { effects: LAMP_ON }, { trace: 't-1' }),
        row('intent', { effects: [{ target: 'hall-lamp/1/OnOff/OnOff', permission: 'device:read:hall-lamp' }] }, { trace: 't-0' }),
      ];
      expect(undoOf(rows)).toEqual([
        { traceId: 't-2', state: 'possible', calls: 1 },
        { traceId: 't-1', state: 'impossible', calls: 1 },
        undefined,
      ]);
    });

    test('is possible for a flag, which is no device', () => {
      const kept = {
        effects: [{ target: 'core:set_flag@1.0.0', permission: 'flag:set:guests' }],
        before: { '@hub': { 'flag/guests': null } },
      };
      expect(undoOf([row('intent', kept, { tool: 'core:set_flag@1.0.0', trace: 't-1' })])).toEqual([
        { traceId: 't-1', state: 'possible', calls: 1 },
      ]);
    });

    test('counts the calls of one trace, and knows what was undone; an undo that failed undid nothing', () => {
      const undo = { tool: 'hub:undo@1.0.0' };
      const undoing = (trace_id: string) => ({ effects: LAMP_ON, before, params: { trace_id } });
      const rows = [
        row('outcome', { error: 'CONFLICT' }, { ...undo, request: 'u-2' }),
        row('intent', undoing('t-2'), { ...undo, request: 'u-2', trace: 'v-2' }),
        row('outcome', { result: {} }, { ...undo, request: 'u-1' }),
        row('intent', undoing('t-1'), { ...undo, request: 'u-1', trace: 'v-1' }),
        row('intent', { effects: LAMP_ON, before }, { trace: 't-2' }),
        row('intent', { effects: LAMP_ON, before }, { trace: 't-2' }),
        row('intent', { effects: LAMP_ON, before }, { trace: 't-1' }),
      ];
      expect(undoOf(rows).slice(2)).toEqual([
        { traceId: 't-2', state: 'possible', calls: 2 },
        { traceId: 't-2', state: 'possible', calls: 2 },
        { traceId: 't-1', state: 'undone', calls: 1 },
      ]);
    });
  });
});
