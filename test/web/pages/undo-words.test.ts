import { afterEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import type { UndoPreview } from '../../../src/web/api/undo.ts';
import { undoText } from '../../../src/web/pages/undo-words.ts';
import de from '../../../src/web/texts/de.json' with { type: 'json' };
import en from '../../../src/web/texts/en.json' with { type: 'json' };
import { speak } from '../../../src/web/texts/text.ts';

const PLAIN: UndoPreview = { outcome: 'would_run', risk: 'low', effects: [], changes: [], calls: [] };
const AT = '2026-05-03T12:04:00.000Z';
const nameOf = (id: string) => (id === 'kitchen-lamp' ? 'Kitchen lamp' : id);
const change = (name: string, more: JsonObject) => ({ device_id: 'kitchen-lamp', name, unit: '', ...more });
const refused = (details: JsonObject): UndoPreview => ({
  ...PLAIN,
  outcome: 'would_be_refused',
  error: { code: 'CONFLICT', message: 'the words of the hub', details },
});

afterEach(() => speak('en', en));

describe('what an undo would do', () => {
  const changes = [
    change('is_on', { now: false, expected: true }),
    change('brightness', { now: 0, expected: 40, unit: '%' }),
    change('hue', { now: 12, expected: 12, unit: '°' }),
  ];

  test('is one line for each device, without what stays as it is', () => {
    expect(undoText({ ...PLAIN, changes }, nameOf).putsBack).toEqual(['Kitchen lamp: off → on, Brightness 0 % → 40 %']);
    speak('de', de);
    expect(undoText({ ...PLAIN, changes }, nameOf).putsBack).toEqual(['Kitchen lamp: aus → an, Helligkeit 0 % → 40 %']);
  });

  test.each([
    ['core:set_flag', { target: 'core:set_flag@1.0.0', permission: 'flag:set:vacation_mode' }, 'Hausmodus: vacation mode'],
    ['core:clear_flag', { target: 'core:clear_flag@1.0.0', permission: 'flag:set:guests' }, 'Beendet den Hausmodus: guests'],
    ['core:delete_scene', { target: 'kitchen-lamp/scene/movie', permission: 'device:control:kitchen-lamp' }, 'Löscht die Szene movie'],
    ['hub:rename_device', { target: 'hub:rename_device@1.0.0', permission: 'admin:device:kitchen-lamp' }, 'Früherer Name: Kitchen lamp'],
    ['hub:set_device_aliases', { target: 'x', permission: 'admin:device:kitchen-lamp' }, 'Frühere weitere Namen: Kitchen lamp'],
    ['gpio:pump_turn_off', { target: 'pump', permission: 'gpio:write:pump' }, 'pump turn off: pump'],
  ])('is one line for the call %s, which brings back what is no value of a device', (tool, effect, line) => {
    speak('de', de);
    const { putsBack, remarks } = undoText({ ...PLAIN, calls: [{ tool: `${tool}@1.0.0`, effects: [{ ...effect, risk: 'low' }] }] }, nameOf);
    expect({ putsBack, remarks }).toEqual({ putsBack: [line], remarks: [] });
  });

  test.each([
    ['hub:rename_area', 'area_name/guest-room', 'Früherer Name eines Raums: guest room'],
    ['hub:describe_area', 'area_names/hall', 'Früheres Stockwerk und weitere Namen eines Raums: hall'],
  ])('names the room of the call %s', (tool, place, line) => {
    speak('de', de);
    const effects = [{ target: `${tool}@1.0.0`, permission: 'admin:hub', risk: 'low' }];
    expect(undoText({ ...PLAIN, calls: [{ tool: `${tool}@1.0.0`, effects, places: [place] }] }, nameOf).putsBack).toEqual([line]);
  });

  test('cannot be done if a call that it makes would be refused', () => {
    const error = { code: 'PERMISSION_DENIED', message: 'the words of the hub', details: {} } as const;
    expect(
      undoText({ ...PLAIN, outcome: 'would_be_refused', calls: [{ tool: 'core:set_flag', effects: [], error }] }, nameOf).refusal,
    ).toBe('the words of the hub');
  });

  test('names the values that the person may not read, and what may change without being known', () => {
    const { putsBack, mayChange } = undoText(
      { ...PLAIN, changes: [change('brightness', {}), change('speed', { unforeseen: true })] },
      nameOf,
    );
    expect(putsBack).toEqual(['Kitchen lamp: Brightness']);
    expect(mayChange).toEqual(['Kitchen lamp: Speed may change too; it is not known how']);
  });

  test('says that it is dangerous and has to be approved, or that there is nothing to do', () => {
    const dangerousUndo: UndoPreview = { ...PLAIN, risk: 'dangerous', outcome: 'needs_approval', changes };
    const dangerous = undoText(dangerousUndo, nameOf);
    expect(dangerous.remarks).toEqual(['Careful: this can do harm.', expect.stringContaining('approve')]);
    const effects = [{ target: 'front-door/1/DoorLock/UnlockDoor', permission: 'device:control:front-door', risk: 'dangerous' }];
    expect(undoText({ ...dangerousUndo, effects }, nameOf).remarks[0]).toBe('Careful: this unlocks or opens something.');
    expect(undoText(PLAIN, nameOf).remarks).toEqual(['All is as it was before already.']);
  });

  test.each([
    [{ reason: 'changed_since', at: AT, agent_id: 'claude' }, /^claude changed the same since, on May 3, 2026, /],
    [{ reason: 'changed_since', at: AT }, /^Somebody changed the same since, on /],
    [{ reason: 'changed_since', device: 'kitchen-lamp' }, /^the words of the hub$/],
    [{ reason: 'already_undone', at: AT }, /^This was undone on .* already\.$/],
    [{ reason: 'still_running' }, /^It still runs/],
    [{ reason: 'not_known' }, /^How it is now is not known/],
    [{ reason: 'not_reported' }, /^A device has not said how it is now/],
    [{ reason: 'irreversible' }, /^the words of the hub$/],
  ])('is refused with the reason: %o', (details, words) => {
    const { refusal, remarks } = undoText(refused(details), nameOf);
    expect(refusal).toMatch(words);
    expect(remarks).toEqual([]);
  });
});
