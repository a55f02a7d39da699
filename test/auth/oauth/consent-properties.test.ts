import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { permissionsOf } from '../../../src/auth/oauth/consent.ts';
import { EVERYDAY_KINDS, grantsOf } from '../../../src/auth/people/person-grants.ts';
import type { ConsentChoice } from '../../../src/core/auth/oauth.ts';
import type { Person } from '../../../src/core/auth/people.ts';
import { covers, parsePermission, type ResourceGroups, requireGrant } from '../../../src/core/auth/permission.ts';
import { intersectPermissions } from '../../../src/core/auth/permission-intersection.ts';
import type { Device } from '../../../src/core/devices/device-model.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { LocalDeviceGroups, typesAndFamilies } from '../../../src/profiles/home/device-groups.ts';
import { MemoryDirectory, makeDevice } from '../../http/http-fixture.ts';
import { NO_DEVICE_FACTS } from '../../no-device-facts.ts';

const AREAS = ['hall', 'kitchen', 'attic', 'garden', 'kids-room', 'cellar', 'garage'];
const TYPES = [
  ...['DimmableLight', 'OnOffPlugInUnit', 'ContactSensor', 'TemperatureSensor', 'Thermostat', 'Fan', 'WindowCovering', 'Speaker'],
  ...['DoorLock', 'WaterValve', 'Refrigerator', 'Pump', 'SolarPower', 'Camera'],
];
const KINDS = [...EVERYDAY_KINDS, 'heating', 'energy', 'appliance', 'pump', 'camera'];
const HARMLESS = [...EVERYDAY_KINDS, 'heating', 'energy'];
const NOW = Date.UTC(2026, 0, 1);

/** A home with devices of one to three types, among them locks with lamps and valves with sensors. */
const homes = fc.array(
  fc.record({
    area: fc.option(fc.constantFrom(...AREAS)),
    types: fc.uniqueArray(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 3 }),
  }),
  {
    minLength: 1,
    maxLength: 8,
  },
);
const names = <Name extends string>(all: readonly Name[]) =>
  fc.uniqueArray(fc.constantFrom(...all), { minLength: 1, maxLength: all.length });
const persons = fc
  .record({
    role: fc.constantFrom('owner', 'adult', 'child', 'guest'),
    rooms: fc.option(names(AREAS), { nil: undefined }),
    kinds: fc.option(names([...KINDS, 'lock', 'valve']), { nil: undefined }),
  })
  .map(
    ({ role, rooms, kinds }): Pick<Person, 'role' | 'limits'> => ({
      role: role as Person['role'],
      limits: role === 'owner' ? {} : { ...(rooms && { rooms }), ...(kinds && { kinds }) },
    }),
  );
const choices: fc.Arbitrary<ConsentChoice> = fc.record({
  areas: fc.oneof(fc.constant('all' as const), names(AREAS)),
  kinds: fc.oneof(fc.constant('all' as const), names(KINDS)),
  control: fc.boolean(),
  readings: fc.boolean(),
  locks: fc.boolean(),
  valves: fc.boolean(),
  administration: fc.boolean(),
  untilMs: fc.constant(NOW + 86_400_000),
});

function homeOf(rows: readonly { readonly area: string | null; readonly types: readonly string[] }[]) {
  const directory = new MemoryDirectory();
  directory.devices = rows.map(({ area, types }, index) =>
    makeDevice(`device-${index}`, { deviceTypes: types, ...(area !== null && { area }) }),
  );
  return { devices: directory.devices, groups: new LocalDeviceGroups(directory, NO_DEVICE_FACTS) };
}

function isCovered(grants: readonly string[], permission: string, groups: ResourceGroups): boolean {
  const required = parsePermission(permission);
  return required !== undefined && grants.some((grant) => covers(requireGrant(grant), required, groups));
}

/** Every permission that a device can need, and those of the hub. */
function needsOf(devices: readonly Device[]): readonly string[] {
  const ofDevices = devices.flatMap(({ id }) => [
    `device:control:${id}`,
    `device:read:${id}`,
    `sensor:read:${id}/value`,
    `admin:device:${id}`,
  ]);
  const ofHub = ['hub', 'token', 'people', 'approvals', 'mesh', 'audit', 'rules', 'agents'].map((name) => `admin:${name}`);
  return [
    ...ofDevices,
    ...ofHub,
    'sequence:run',
    'job:cancel',
    'proc:exec',
    'agent:spawn',
    'web:search',
    'fs:read:x',
    'camera:capture:c',
    'notify:send',
  ];
}

function granted(choice: ConsentChoice, person: Pick<Person, 'role' | 'limits'>): readonly string[] | undefined {
  try {
    return permissionsOf(choice, { permissions: grantsOf(person), untilMs: undefined, nowMs: NOW });
  } catch (thrown) {
    if (thrown instanceof AtmoError && ['VALIDATION_ERROR', 'PERMISSION_DENIED'].includes(thrown.code)) return undefined;
    throw thrown;
  }
}

/** Whether a choice names this device, in words of its own: by its area, and as a lock, as a valve or by its kinds. */
function isChosen({ area, deviceTypes }: Device, { areas, kinds, locks, valves }: ConsentChoice): boolean {
  const own = typesAndFamilies(deviceTypes);
  const isInArea = areas === 'all' || (area !== undefined && areas.includes(area));
  if (own.has('lock') || own.has('valve')) return isInArea && ((own.has('lock') && locks) || (own.has('valve') && valves));
  return isInArea && (kinds === 'all' ? HARMLESS : kinds).some((kind) => own.has(kind));
}

describe('a consent', () => {
  test('never gives more than the choice says and the person has, whatever the home is', () => {
    fc.assert(
      fc.property(homes, persons, choices, (rows, person, choice) => {
        const { devices, groups } = homeOf(rows);
        const permissions = granted(choice, person) ?? [];
        for (const need of needsOf(devices)) {
          if (!isCovered(permissions, need, groups)) continue;
          expect(isCovered(grantsOf(person), need, groups), `${need} by ${permissions}`).toBe(true);
          expect(isNamed(need, devices, choice), `${need} by ${JSON.stringify(choice)}`).toBe(true);
        }
      }),
      { numRuns: 600 },
    );
  });

  test('gives all of what the choice says to a person who has everything', () => {
    fc.assert(
      fc.property(homes, choices, (rows, choice) => {
        const { devices, groups } = homeOf(rows);
        const permissions = granted(choice, { role: 'owner', limits: {} });
        if (permissions === undefined) return;
        for (const device of devices) {
          if (isChosen(device, choice)) expect(isCovered(permissions, `device:control:${device.id}`, groups)).toBe(choice.control);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('never covers a lock or a valve with the kinds alone, even one that is a lamp or sensor as well', () => {
    fc.assert(
      fc.property(homes, persons, choices, fc.constantFrom('DoorLock', 'WaterValve'), (rows, person, choice, guarded) => {
        const { devices, groups } = homeOf(rows.map((row) => ({ ...row, types: [...row.types, guarded] })));
        const permissions = granted({ ...choice, locks: false, valves: false }, person) ?? [];
        const ofDevices = needsOf(devices).filter((need) => need.includes('device-'));
        expect(ofDevices.filter((need) => isCovered(permissions, need, groups))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test('gives at each renewal what was shown and what the person has then', () => {
    fc.assert(
      fc.property(homes, persons, persons, choices, (rows, before, now, choice) => {
        const { devices, groups } = homeOf(rows);
        const shown = granted(choice, before) ?? [];
        const renewed = intersectPermissions(shown, grantsOf(now));
        for (const need of needsOf(devices)) {
          const isBoth = isCovered(shown, need, groups) && isCovered(grantsOf(now), need, groups);
          const isRenewed = isCovered(renewed, need, groups);
          const place = `${need}: ${shown} / ${grantsOf(now)} / ${renewed}`;
          if (isRenewed) expect(isBoth, place).toBe(true);
          // No grant can say "light and heating", so a device of two types may be left out.
          const isPlain = devices.every(({ deviceTypes }) => deviceTypes.length === 1 && typesAndFamilies(deviceTypes).size === 2);
          if (isPlain) expect(isRenewed, place).toBe(isBoth);
        }
      }),
      { numRuns: 400 },
    );
  });

  const CHOICE: ConsentChoice = {
    areas: ['hall', 'attic'],
    kinds: ['fan', 'light'],
    control: true,
    readings: false,
    locks: false,
    valves: false,
    administration: false,
    untilMs: NOW + 86_400_000,
  };
  const owner = { role: 'owner', limits: {} } as const;

  test('of two rooms and two kinds is one grant for each action', () => {
    expect(granted(CHOICE, owner)).toEqual(['device:control:@area/hall+attic/@type/fan+light', 'job:cancel', 'sequence:run']);
  });

  test('of rooms with the longest names fits into grants', () => {
    const areas = ['a', 'b', 'c', 'd', 'e'].map((letter) => letter.repeat(64));
    const [one, two, three, four, five] = areas;
    const grants = [`${four}+${five}`, `${one}+${two}+${three}`].map((names) => `device:control:@area/${names}/@type/fan`);
    expect(new Set(granted({ ...CHOICE, areas, kinds: ['fan'] }, owner))).toEqual(new Set([...grants, 'job:cancel', 'sequence:run']));
  });

  test.each<[string, Partial<ConsentChoice>, string]>([
    ['a lock that the person may not use', { locks: true }, 'You can only give an application what you may do yourself'],
    ['the same room twice', { areas: ['hall', 'hall'] }, 'Rooms are "all" or up to 32 different names such as "living-room"'],
    ['a lock as a kind', { kinds: ['lock'] }, 'locks and valves have choices of their own'],
    ['less than an hour', { untilMs: NOW + 3_599_999 }, 'The end has to be at least an hour from now'],
    ['nothing', { control: false }, 'This choice gives nothing that you may do'],
  ])('of %s is refused, and says why', (_what, changes, message) => {
    const bounds = { permissions: grantsOf({ role: 'guest', limits: {} }), untilMs: undefined, nowMs: NOW };
    expect(() => permissionsOf({ ...CHOICE, ...changes }, bounds)).toThrow(message);
  });
});

function isNamed(need: string, devices: readonly Device[], choice: ConsentChoice): boolean {
  const [namespace, action, resource = ''] = need.split(':');
  const device = devices.find(({ id }) => id === resource.split('/')[0]);
  if (namespace === 'admin') {
    const isOfHub = ['hub', 'agents', 'audit', 'rules'].includes(action ?? '');
    return choice.administration && (device ? isChosen(device, choice) : isOfHub);
  }
  if (!device) return choice.control && ['sequence:run', 'job:cancel'].includes(need);
  return isChosen(device, choice) && (need.startsWith('device:control') ? choice.control : choice.readings);
}
