import { describe, expect, test } from 'vitest';
import { auditLine, shortName } from '../../../src/web/pages/audit-rows.ts';

const TOOL = 'matter:front_door_unlock@1.0.0';

describe('a row of the audit log in words', () => {
  test('names the approvers of a call', () => {
    const content = { params: { pin: '***' }, decision: { approved_by: ['ann', 'ben'] } };
    expect(auditLine({ kind: 'intent', tool: TOOL, content }, [])).toEqual({
      verdict: 'asked',
      subject: 'front_door_unlock',
      detail: '{"pin":"***"} · approved by ann, ben',
    });
  });

  test('names the effect of a call, its device and room', () => {
    const content = { params: { pin: '***' }, effects: [{ target: 'front-door/1/DoorLock/UnlockDoor' }, { target: TOOL }] };
    const devices = [{ id: 'front-door', name: 'Front door', area: 'Hall' }];
    expect(auditLine({ kind: 'intent', tool: TOOL, content }, devices).detail).toBe('Unlock Front door (Hall) · {"pin":"***"}');
  });

  test('has the reason of a refusal or failure, and the result of a success', () => {
    const content = { error: 'PERMISSION_DENIED', message: 'device:control:front-door is missing' };
    expect(auditLine({ kind: 'refusal', tool: TOOL, content }, [])).toMatchObject({
      verdict: 'refused',
      detail: expect.stringContaining('is missing'),
    });
    expect(auditLine({ kind: 'outcome', tool: TOOL, content }, [])).toMatchObject({ verdict: 'failed' });
    expect(auditLine({ kind: 'outcome', tool: TOOL, content: { result: { state: 'on' } } }, [])).toMatchObject({
      verdict: 'done',
      detail: '{"state":"on"}',
    });
  });

  test('has the event of a note', () => {
    expect(auditLine({ kind: 'note', content: { event: 'token.refused', data: {} } }, [])).toEqual({
      verdict: 'noted',
      subject: 'token.refused',
      detail: '',
    });
  });

  test('cuts long texts', () => {
    const { detail } = auditLine({ kind: 'outcome', tool: TOOL, content: { result: { text: 'x'.repeat(1_000) } } }, []);
    expect(detail.length).toBeLessThan(200);
  });
});

test('a tool is named without namespace and version', () => {
  expect(shortName('matter:lamp_turn_on@1.0.0')).toBe('lamp_turn_on');
  expect(shortName('lamp')).toBe('lamp');
});
