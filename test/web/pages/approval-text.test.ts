import { describe, expect, test } from 'vitest';
import { approvalText, byWords, shareLeft } from '../../../src/web/pages/approval-text.ts';
import { approvalView, deviceView } from '../home-fixture.ts';

const devices = [deviceView('garden-valve', { name: 'Garden valve' })];

describe('a request for approval', () => {
  test('has the agent, the action, the device, and each argument with its unit', () => {
    const approval = approvalView({
      title: 'open',
      params: { open_percent: 50, seconds: 600, note: 'snake_case stays' },
      effects: [
        { permission: 'device:control:garden-valve', risk: 'dangerous', target: 'garden-valve/1/ValveConfigurationAndControl/Open' },
      ],
    });
    const schema = { properties: { open_percent: { 'x-unit': '%' }, seconds: { 'x-unit': 's' } } };
    expect(approvalText(approval, devices, schema)).toEqual({
      who: 'claude',
      what: 'Open',
      devices: ['Garden valve'],
      where: 'Garden valve',
      effects: ['Open Garden valve'],
      arguments: [
        { name: 'Open percent', value: '50 %' },
        { name: 'Seconds', value: '600 s' },
        { name: 'Note', value: 'snake_case stays' },
      ],
    });
  });

  test('counts many devices, with the names from the hub for devices that the page does not list', () => {
    const many = Array.from({ length: 113 }, (_, index) => ({ id: `d${index}`, name: `Lamp ${index}` }));
    const effects = many.map(({ id }) => ({ permission: '', risk: 'dangerous' as const, target: `${id}/1/OnOff/On` }));
    const words = approvalText(approvalView({ effects, devices: many }), []);
    expect(words.where).toBe('113 devices');
    expect(words.devices).toHaveLength(113);
  });

  test('names each approver, or the person who denied it, once', () => {
    const given = ['ann', 'ann', 'ben'].map((person) => ({ person, key_id: 'ab', at: '2026-05-01T12:00:00.000Z' }));
    expect(byWords({ approved_by: given })).toBe(' by ann and ben');
    expect(byWords({ approved_by: given.slice(0, 1), denied_by: 'carl' })).toBe(' by carl');
    expect(byWords({ approved_by: [] })).toBe('');
  });

  test('names the device in the parameters of a hub tool', () => {
    expect(approvalText(approvalView({ params: { device_id: 'garden-valve' } }), devices).devices).toEqual(['Garden valve']);
  });

  test('shows the signed values exactly: no rounded number, no ambiguous list, no hidden or reversed text', () => {
    const params = {
      level: 0.00049,
      big: 1234567.891,
      one: ['a, b'],
      two: ['a', 'b'],
      nested: { door: 'front_door' },
      note: 'lock \u202ekcolnu\u200b',
      none: null,
    };
    const { arguments: shown } = approvalText(approvalView({ params, title: 'open\u2066' }), [deviceView('lock', { name: 'a\u202eb' })]);
    expect(shown.map(({ value }) => value)).toEqual([
      '0.00049',
      '1234567.891',
      '["a, b"]',
      '["a","b"]',
      '{"door":"front_door"}',
      'lock \\u{202e}kcolnu\\u{200b}',
      'nothing',
    ]);
    const about = approvalText(approvalView({ params: { device_id: 'lock' }, title: 'open\u2066' }), [
      deviceView('lock', { name: 'a\u202eb' }),
    ]);
    expect([about.what, about.devices]).toEqual(['Open\\u{2066}', ['a\\u{202e}b']]);
  });

  test('has the share of its remaining time', () => {
    const at = (time: string) => shareLeft(approvalView(), Date.parse(`2026-05-01T${time}.000Z`));
    expect([at('11:59:00'), at('12:05:00'), at('12:11:00')]).toEqual([1, 0.5, 0]);
  });
});
