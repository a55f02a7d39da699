import { describe, expect, test } from 'vitest';
import { GrantAuthorizer } from '../../../src/auth/grant-authorizer.ts';
import { compileRules } from '../../../src/auth/rules/rule-compiler.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { standardDeviceTypes } from '../../../src/matter/model/data-model.ts';
import { LocalDeviceGroups, typesAndFamilies } from '../../../src/profiles/home/device-groups.ts';
import { StoredHomeNames } from '../../../src/tools/names/home-names.ts';
import { callOf, effectOn } from '../../auth/rules/rule-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { NO_DEVICE_FACTS, NO_REMOTE_GROUPS } from '../../no-device-facts.ts';
import { described } from '../device-fixtures.ts';
import { FakeHome } from '../fake-home.ts';

const lamp = described('DimmableLight', { device: { id: parseDeviceId('lamp'), area: "Kids' room" } });
const meter = described('TemperatureSensor', { device: { id: parseDeviceId('meter') } });

describe('device groups', () => {
  test('a device belongs to its Matter type, the families of the type and its area, and so do its readings', () => {
    const groups = new LocalDeviceGroups(new FakeHome(lamp, meter), NO_DEVICE_FACTS);
    const is = (resource: string, by: 'type' | 'area', name: string) => groups.isMember(resource, { by, name });
    expect([is('lamp', 'type', 'dimmable-light'), is('lamp', 'type', 'light'), is('lamp', 'area', 'kids-room')]).toEqual([
      true,
      true,
      true,
    ]);
    expect([is('lamp/power', 'type', 'light'), is('lamp/power/2', 'area', 'kids-room')]).toEqual([true, true]);
    expect([is('lamp', 'type', 'lock'), is('lamp', 'area', 'kids'), is('lam', 'type', 'light'), is('lamp2', 'type', 'light')]).toEqual(
      Array(4).fill(false),
    );
    expect([is('meter', 'type', 'sensor'), is('meter', 'area', 'kids-room'), is('gone', 'type', 'light')]).toEqual([true, false, false]);
  });

  test('a lock or valve counts as that alone, so that a grant for lamps or sensors never opens it', () => {
    const lock = described('DoorLock', {
      device: { id: parseDeviceId('lock'), deviceTypes: ['DoorLock', 'DimmableLight', 'ContactSensor'] },
    });
    const valve = described('WaterValve', { device: { id: parseDeviceId('valve'), deviceTypes: ['WaterValve', 'OnOffPlugInUnit'] } });
    const groups = new LocalDeviceGroups(new FakeHome(lock, valve), NO_DEVICE_FACTS);
    const groupsOf = (id: string) =>
      ['lock', 'door-lock', 'valve', 'light', 'dimmable-light', 'sensor', 'contact-sensor', 'plug'].filter((name) =>
        groups.isMember(id, { by: 'type', name }),
      );
    expect([groupsOf('lock'), groupsOf('valve')]).toEqual([['lock', 'door-lock'], ['valve']]);
    expect(groups.typesOf('lock').has('light')).toBe(true);
  });

  test('a device is named with its parts, and with its id where another device has its name and room', () => {
    const twin = described('DimmableLight', { device: { id: parseDeviceId('lamp-2'), name: lamp.device.name, area: "kids' ROOM" } });
    const named = (home: FakeHome) => new LocalDeviceGroups(home, NO_DEVICE_FACTS).namedDevice('lamp');
    expect(named(new FakeHome(lamp, meter))).toEqual({ id: 'lamp', name: lamp.device.name, area: "Kids' room", parts: 1 });
    expect(named(new FakeHome(lamp, twin))).toMatchObject({ shares_name: true });
  });

  test('follow the home: a new area counts from the next check on', () => {
    const home = new FakeHome(lamp);
    const groups = new LocalDeviceGroups(home, NO_DEVICE_FACTS);
    expect(groups.areaOf('lamp')).toBe('kids-room');
    home.change(lamp.device.id, { area: 'Hall', deviceTypes: ['DoorLock'] });
    expect([groups.areaOf('lamp'), groups.typesOf('lamp').has('lock'), groups.typesOf('lamp').has('light')]).toEqual(['hall', true, false]);
    home.remove(lamp.device.id);
    expect([groups.areaOf('lamp'), groups.typesOf('lamp').size]).toEqual([undefined, 0]);
  });

  test('grants and rules that name a room hold on after it got another name, and never reach the room that it was joined to', () => {
    const home = new FakeHome(lamp, meter);
    const store = new MemoryKeyValueStore(new ManualClock());
    const names = new StoredHomeNames(store);
    const groups = new LocalDeviceGroups(home, names);
    const authorizer = new GrantAuthorizer({ groups, elsewhere: NO_REMOTE_GROUPS, validity: { isStillValid: () => true } });
    const may = (area: string, device: string) =>
      authorizer.authorize({ id: 'a', kind: 'agent', permissions: [`device:control:@area/${area}`] }, [`device:control:${device}`]).allowed;
    const isBlocked = (area: string) => {
      const { set } = compileRules(`rules: [{ name: quiet, effect: deny, when: { area: ${area} } }]`, 'rules.yaml');
      return set.judge(callOf([effectOn('lamp')]), { facts: groups, minute: undefined }).kind === 'deny';
    };
    const rename = (from: string, to: string, isJoined = false) => {
      names.renameArea(from, to, { isJoined });
      home.change(lamp.device.id, { area: to });
    };
    rename("Kids' room", 'Studio');
    rename('Studio', 'Guest room');
    expect(['kids-room', 'studio', 'guest-room', 'kids'].map((area) => [may(area, 'lamp'), isBlocked(area)])).toEqual([
      [true, true],
      [true, true],
      [true, true],
      [false, false],
    ]);
    const restarted = new StoredHomeNames(store);
    expect(['kids-room', 'studio', 'guest-room'].map((key) => restarted.areaMeant(key))).toEqual(Array(3).fill('guest-room'));
    rename('Guest room', 'Studio');
    expect([may('studio', 'lamp'), may('guest-room', 'lamp'), names.formerAreaNames('Studio')]).toEqual([
      true,
      true,
      ['kids-room', 'guest-room'],
    ]);
    home.change(meter.device.id, { area: 'Hall' });
    rename('Studio', 'Hall', true);
    expect([may('hall', 'lamp'), may('studio', 'meter'), may('kids-room', 'meter'), names.areaToday('kids room')]).toEqual([
      true,
      false,
      false,
      'Hall',
    ]);
  });

  test('a grant by type reaches every light and nothing else', () => {
    const authorizer = new GrantAuthorizer({
      groups: new LocalDeviceGroups(new FakeHome(lamp, meter), NO_DEVICE_FACTS),
      elsewhere: NO_REMOTE_GROUPS,
      validity: { isStillValid: () => true },
    });
    const agent = { id: 'a', kind: 'agent', permissions: ['device:control:@type/light'] } as const;
    expect(authorizer.authorize(agent, ['device:control:lamp']).allowed).toBe(true);
    expect(authorizer.authorize(agent, ['device:control:meter']).allowed).toBe(false);
    expect(authorizer.authorize(agent, ['device:read:lamp']).allowed).toBe(false);
  });

  test('every type of the standard has a slug that a grant can name', () => {
    for (const { name } of standardDeviceTypes()) {
      for (const slug of typesAndFamilies([name])) expect(slug, name).toMatch(/^[a-z0-9][a-z0-9-]{0,63}$/);
    }
    expect([...typesAndFamilies(['OnOffPlugInUnit'])]).toEqual(['on-off-plug-in-unit', 'plug']);
    expect([...typesAndFamilies(['SmokeCoAlarm'])]).toEqual(['smoke-co-alarm', 'sensor']);
  });
});
