import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Device } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/ids.ts';
import { deviceSlugs, NAME_LIMIT, toolName } from '../../../src/profiles/home/device-names.ts';
import { described } from '../device-fixtures.ts';

const device = (id: string, name: string): Device => ({ ...described('OnOffLight').device, id: parseDeviceId(id), name });

describe('names of device tools', () => {
  test('come from the name that people gave', () => {
    const slugs = deviceSlugs([device('light-living-room', 'Living Room Light')]);
    expect(toolName(slugs.get(parseDeviceId('light-living-room')) ?? '', 'turn_on')).toBe('living_room_light_turn_on');
  });

  test('fall back to the id where the name has no Latin letter, and start with a letter', () => {
    const slugs = deviceSlugs([device('lamp-7', '客厅灯'), device('three', '3D printer')]);
    expect([...slugs.values()]).toEqual(['lamp_7', 'device_3d_printer']);
  });

  test('of two devices of one name the one with that id keeps it, in whatever order they come', () => {
    const [first, second, third] = [device('lamp', 'Lamp'), device('lamp-2', 'Lamp'), device('a-lamp', 'Lamp')];
    const slugs = deviceSlugs([third, second, first]);
    expect(slugs.get(first.id)).toBe('lamp');
    expect(slugs.get(second.id)).toMatch(/^lamp_[0-9a-f]{6}$/);
    expect(new Set(slugs.values()).size).toBe(3);
    expect(new Map([...deviceSlugs([first, second, third])].sort())).toEqual(new Map([...slugs].sort()));
  });

  test('of two devices of one name the one that a person named so keeps it, whatever the other calls itself', () => {
    const lock = { ...device('lock-a1', 'Front Door'), isNamedHere: true as const };
    const slugs = deviceSlugs([device('front-door', 'Front Door'), device('a-fake', 'Front Door'), lock]);
    expect(slugs.get(lock.id)).toBe('front_door');
  });

  test('stay within 40 characters, differ, and keep the action readable', () => {
    const slug = 'guest_bathroom_mirror_cabinet_light_left';
    expect(toolName(slug, 'turn_on')).toMatch(/^guest_bathroom_mirror_cab_turn_on_[0-9a-f]{6}$/);
    const text = fc.stringMatching(/^[a-z][a-z0-9_]{0,60}$/);
    fc.assert(
      fc.property(text, text, (left, right) => {
        const name = toolName(left, right);
        expect(name.length).toBeLessThanOrEqual(NAME_LIMIT);
        expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
        expect(toolName(left, right)).toBe(name);
      }),
    );
  });
});
