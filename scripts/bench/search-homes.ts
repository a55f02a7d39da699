/** The homes of the rows as Matter devices, and what their actions are called by the tools that profiles make of such devices. */

import { sha256Hex } from '../../src/codec/hashes.ts';
import type { Device, DeviceDescription } from '../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../src/core/devices/device-names.ts';
import { slug } from '../../src/core/ids.ts';
import { describeDeviceType } from '../../test/fixtures/describe-standard.ts';
import type { ActionRow, RowDevice } from './search-rows.ts';

/** What kind of Matter device has the actions of a type: device types, one endpoint each, with clusters that are optional there. */
const MATTER: Readonly<Record<string, readonly (readonly [type: string, clusters: readonly string[]])[]>> = {
  light: [['OnOffLight', []]],
  'light-dimmable': [['DimmableLight', []]],
  'smart-speaker': [['Speaker', ['MediaPlayback']]],
  'smart-tv': [
    ['BasicVideoPlayer', []],
    ['Speaker', []],
  ],
  'smart-plug': [['OnOffPlugInUnit', []]],
  switch: [['MountedOnOffControl', []]],
  hvac: [['RoomAirConditioner', []]],
  'heat-pump': [['HeatPump', ['Thermostat', 'OnOff']]],
  'smart-sprinkler': [['WaterValve', []]],
  'water-valve': [['WaterValve', []]],
  'exhaust-fan': [['Fan', ['OnOff']]],
  'fan-oscilating': [['Fan', ['OnOff']]],
  'smart-lock': [['DoorLock', []]],
  vacuum: [['RoboticVacuumCleaner', []]],
  'garage-door': [['Closure', []]],
  'smart-blinds': [['WindowCovering', []]],
};

/** Titles of the tools that do what an action of the rows means. */
const TITLES: Readonly<Record<string, readonly string[]>> = {
  'Turn on': ['Turn on', 'Open'],
  'Turn off': ['Turn off', 'Close'],
  'Set brightness': ['Set brightness'],
  'Set volume': ['Set volume'],
  'Set temperature': ['Set temperature'],
  'Set position': ['Open', 'Set position'],
  Pause: ['Pause'],
  Unpause: ['Play'],
  'Next track': ['Next'],
  'Previous track': ['Previous'],
  Start: ['Set run mode', 'Resume'],
  'Return to base': ['Go home'],
  Open: ['Open'],
  Close: ['Close'],
  Lock: ['Lock'],
  Unlock: ['Unlock'],
};

/** Types that can do the same for somebody are of one kind. */
const KINDS: Readonly<Record<string, string>> = {
  'light-dimmable': 'light',
  'smart-tv': 'media',
  'smart-speaker': 'media',
  'smart-plug': 'switch',
  'heat-pump': 'climate',
  hvac: 'climate',
  'smart-sprinkler': 'water',
  'water-valve': 'water',
  'exhaust-fan': 'fan',
  'fan-oscilating': 'fan',
};

/** Titles of the tools that do the opposite of what an action of the rows means. */
const OPPOSITES: Readonly<Record<string, readonly string[]>> = {
  'Turn on': ['Turn off', 'Close', 'Stop fan', 'Stop'],
  'Turn off': ['Turn on', 'Turn on for a time', 'Open', 'Start'],
  Open: ['Close', 'Lock'],
  Close: ['Open', 'Unlock', 'Unbolt'],
  Lock: ['Unlock', 'Unlock for a time', 'Unbolt', 'Open'],
  Unlock: ['Lock', 'Close'],
  Pause: ['Play', 'Resume'],
  Unpause: ['Pause', 'Stop'],
  'Next track': ['Previous', 'Rewind', 'Skip backward'],
  'Previous track': ['Next', 'Fast forward', 'Skip forward'],
  Start: ['Stop', 'Pause', 'Go home'],
};

/** What kind of thing a device of the rows is. */
export function kindOf({ type }: RowDevice): string {
  return KINDS[type] ?? type;
}

/** True when a tool with this title does the opposite of what the row means. */
export function meansOpposite(row: ActionRow, title: string): boolean {
  return (OPPOSITES[row.action] ?? []).includes(title);
}

/** Id of a device of the rows; two in different areas may have one name. */
export function rowDeviceId({ device, area, type }: RowDevice): string {
  const tail = sha256Hex(`${device}/${area}/${type}`).slice(0, 6);
  return `${slug(device, '-').slice(0, 50) || 'device'}-${tail}`;
}

/** True when a tool with this title does what the row means. */
export function meansAction(row: ActionRow, title: string): boolean {
  return (TITLES[row.action] ?? []).includes(title);
}

/** True for the tools that go up or down from where a thing is: right for wishes such as `brighter`, without a number. */
export function isRelative(row: ActionRow, title: string): boolean {
  const relative: Readonly<Record<string, string>> = {
    'Set brightness': 'Make brighter or darker',
    'Set temperature': 'Make warmer or colder',
    'Set volume': 'Make louder or quieter',
  };
  return relative[row.action] === title && /(er|up|down|more|less|dim|raise|lower|increase|reduce|decrease)\b/i.test(row.utterance);
}

/** A device of the rows as Matter describes it. */
export function describeRowDevice(row: RowDevice): DeviceDescription {
  const parts = MATTER[row.type] ?? [];
  const described = parts.map(([type, clusters], index) =>
    describeDeviceType(type, { hasAllElements: true, clusters, endpoint: index + 1 }),
  );
  const [first] = described;
  const base: Device = first?.device ?? describeDeviceType('OnOffPlugInUnit').device;
  const device: Device = { ...base, id: parseDeviceId(rowDeviceId(row)), name: row.device, ...(row.area !== '' && { area: row.area }) };
  return { device, endpoints: described.flatMap(({ endpoints }) => endpoints) };
}
