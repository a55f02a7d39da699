import { escapeAllHidden, isVisible } from '../untrusted-text.ts';
import { ENGLISH_CALL, type TargetWords } from './call-words.ts';
import { readableWords } from './matter-names.ts';

/** A device with its name and area for people. */
export interface NamedDevice {
  readonly id: string;
  readonly name: string;
  readonly area?: string | null;
  /** Number of the device's endpoints; absent if unknown. */
  readonly parts?: number;
  /** True if another device has the same name in the same area. */
  readonly shares_name?: boolean;
}

/** The commands and attributes (`Cluster/Name`) of each verb. Any other element is described by the words of its Matter name. */
const ELEMENTS_OF_VERBS: Readonly<Record<string, string>> = {
  'Turn on': 'OnOff/On',
  'Turn on for a time': 'OnOff/OnWithTimedOff',
  'Turn off': 'OnOff/Off OnOff/OffWithEffect',
  Switch: 'OnOff/Toggle',
  'Set the level of': 'LevelControl/MoveToLevel LevelControl/MoveToLevelWithOnOff',
  'Change the level of': 'LevelControl/Step LevelControl/StepWithOnOff',
  'Set the color of':
    'ColorControl/MoveToHue ColorControl/MoveToSaturation ColorControl/MoveToHueAndSaturation ColorControl/MoveToColor ColorControl/MoveToColorTemperature',
  Lock: 'DoorLock/LockDoor',
  Unlock: 'DoorLock/UnlockDoor',
  Unbolt: 'DoorLock/UnboltDoor',
  'Unlock for a time': 'DoorLock/UnlockWithTimeout',
  'Set a user of': 'DoorLock/SetUser',
  'Delete a user of': 'DoorLock/ClearUser',
  'Set a credential of': 'DoorLock/SetCredential',
  'Delete a credential of': 'DoorLock/ClearCredential',
  Open: 'ValveConfigurationAndControl/Open WindowCovering/UpOrOpen',
  Close: 'ValveConfigurationAndControl/Close WindowCovering/DownOrClose',
  Move: 'WindowCovering/GoToLiftPercentage ClosureControl/MoveTo',
  Tilt: 'WindowCovering/GoToTiltPercentage',
  'Move a panel of': 'ClosureDimension/SetTarget ClosureDimension/Step',
  Calibrate: 'ClosureControl/Calibrate',
  Stop: 'WindowCovering/StopMotion ClosureControl/Stop OperationalState/Stop OvenCavityOperationalState/Stop',
  Start: 'OperationalState/Start OvenCavityOperationalState/Start',
  'Set the cooking of': 'MicrowaveOvenControl/SetCookingParameters',
  Pause: 'OperationalState/Pause RvcOperationalState/Pause',
  Resume: 'OperationalState/Resume RvcOperationalState/Resume',
  'Set the temperature of': 'Thermostat/OccupiedHeatingSetpoint Thermostat/OccupiedCoolingSetpoint',
  'Change the temperature of': 'Thermostat/SetpointRaiseLower',
  'Set the speed of': 'FanControl/PercentSetting FanControl/FanMode',
  'Set the mode of': 'Thermostat/SystemMode RvcRunMode/ChangeToMode RvcCleanMode/ChangeToMode',
  'Set the smoke sensitivity of': 'SmokeCoAlarm/SmokeSensitivityLevel',
  Test: 'SmokeCoAlarm/SelfTestRequest',
  'Run an action of': 'Actions/InstantAction',
};
const VERBS: ReadonlyMap<string, string> = new Map(
  Object.entries(ELEMENTS_OF_VERBS).flatMap(([verb, elements]) => elements.split(' ').map((element) => [element, verb])),
);

const PLAIN_NAME = /^[\p{L}\p{N}][\p{L}\p{N} ,.'’/()-]{0,119}$/u;
/** Maximum number of targets that a text lists completely. A longer list is shown as a number and up to MAX_NAMES names. */
const MAX_TARGETS = 6;
const MAX_NAMES = 12;

/** A command or attribute of a device, parsed from a target such as `front-door/1/DoorLock/UnlockDoor`. */
export interface DeviceElement {
  readonly device: string;
  readonly part: string;
  readonly cluster: string;
  readonly element: string;
}

/** Parses a target. Returns undefined if it is not an element of a device but, for example, a whole device, a program or a tool. */
export function deviceElement(target: string): DeviceElement | undefined {
  const [device, part, cluster, element, ...rest] = target.split('/');
  if (!device || !part || !cluster || !element || rest.length > 0 || !/^\d+$/.test(part)) return undefined;
  return { device, part, cluster, element };
}

/** Returns the verb of an element, such as `Unlock`; undefined if the table has none. */
export function verbOf({ cluster, element }: DeviceElement): string | undefined {
  return VERBS.get(`${cluster}/${element}`);
}

/** The targets of a call in words. */
export interface TargetDescription {
  /** Actions on devices, such as `Unlock Front door (hall); Turn off Lamp (kitchen)`; may be empty. */
  readonly does: string;
  /** Whole devices and other targets, such as `Front door (hall)`; may be empty. */
  readonly touches: string;
}

const READS = /^(device|sensor):read(:|$)/;
const NO_READS: ReadonlySet<string> = new Set();

/** Returns the targets that a call only reads, which means that every effect on them has a read permission. */
export function readsIn(effects: readonly { readonly target: string; readonly permission: string }[]): ReadonlySet<string> {
  const changed = new Set(effects.filter(({ permission }) => !READS.test(permission)).map(({ target }) => target));
  return new Set(effects.map(({ target }) => target).filter((target) => !changed.has(target)));
}

interface Wording {
  /** The targets that are only read. */
  readonly reads?: ReadonlySet<string>;
  readonly words?: TargetWords;
}

/** Returns the targets in words. Devices with the same verb are listed together. */
export function describeTargets(
  targets: readonly string[],
  devices: readonly NamedDevice[],
  { reads = NO_READS, words = ENGLISH_CALL }: Wording = {},
): TargetDescription {
  const all = [...new Set(targets)];
  const elements = all.flatMap((target) => {
    const element = deviceElement(target);
    return element ? [{ ...element, isRead: reads.has(target) }] : [];
  });
  const things = all.filter((target) => deviceElement(target) === undefined);
  const groups = Map.groupBy(elements, (element) =>
    element.isRead ? `read ${element.element}` : (verbOf(element) ?? describeElement(element)),
  );
  const does = [...groups.values()].map((group) => groupText(group, devices, words));
  const touches = [...new Set(things.map((target) => describeOtherTarget(target, { devices, words })))];
  const isLong = touches.length > MAX_TARGETS;
  return { does: does.join('; '), touches: isLong ? countedThings(touches, things, { devices, words }) : touches.join(', ') };
}

type UsedElement = DeviceElement & { readonly isRead: boolean };

/** Returns what is done to the devices of a group, whose elements have the same verb. */
function groupText(group: readonly UsedElement[], devices: readonly NamedDevice[], words: TargetWords): string {
  const names = listed(locationsOf(group, { devices, words }), words);
  const [first] = group;
  if (!first) return names;
  if (first.isRead) return words.read(readableWords(first.element), names);
  const verb = verbOf(first);
  return verb === undefined ? `${describeElement(first)}: ${names}` : words.action(verb, names);
}

/** Returns both texts of `describeTargets` in one line. */
export function targetText(targets: readonly string[], devices: readonly NamedDevice[], wording: Wording = {}): string {
  const { does, touches } = describeTargets(targets, devices, wording);
  return [does, touches].filter((text) => text !== '').join('; ');
}

/** Returns what a past call did to devices, in words. `effects` come from the audit log. Empty if the call affected no device. */
export function describeCompleted(effects: unknown, devices: readonly NamedDevice[]): string {
  const all = (Array.isArray(effects) ? effects : []).map((effect: unknown) => {
    const { target, permission } = Object(effect);
    return { target: String(target), permission: String(permission) };
  });
  const targets = all.map(({ target }) => target).filter((target) => deviceElement(target));
  return targetText(targets, devices, { reads: readsIn(all) });
}

/** Returns a name that a device or an agent chose. The name is quoted if it contains unusual characters. */
export function nameText(name: string): string {
  return PLAIN_NAME.test(name) && isVisible(name) ? name : escapeAllHidden(JSON.stringify(name));
}

function describeElement({ cluster, element }: DeviceElement): string {
  const text = `${readableWords(cluster)}, ${readableWords(element)}`;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns a device's name and area, and also its id if the name is not unique. For an unknown device, returns only the id. */
export function deviceText(id: string, devices: readonly NamedDevice[]): string {
  const device = devices.find((one) => one.id === id);
  if (!device) return id;
  const isShared = device.shares_name ?? devices.some((other) => areNamesakes(other, device));
  const name = isShared ? `${nameText(device.name)} [${id}]` : nameText(device.name);
  return typeof device.area === 'string' ? `${name} (${nameText(device.area)})` : name;
}

/** Returns whether two different devices have the same name in the same area. */
export function areNamesakes(a: NamedDevice, b: NamedDevice): boolean {
  const plain = (text: string) => text.normalize('NFKC').trim().toLowerCase();
  return a.id !== b.id && plain(a.name) === plain(b.name) && plain(a.area ?? '') === plain(b.area ?? '');
}

interface NamedIn {
  readonly devices: readonly NamedDevice[];
  readonly words: TargetWords;
}

/** Returns a text for each device: its name, and the endpoint numbers if the device has several endpoints. */
function locationsOf(elements: readonly DeviceElement[], { devices, words }: NamedIn): readonly string[] {
  const parts = Map.groupBy(elements, ({ device }) => device);
  return [...parts].map(([id, own]) => {
    const numbers = [...new Set(own.map(({ part }) => part))];
    const name = deviceText(id, devices);
    const known = devices.find((one) => one.id === id)?.parts;
    const isWhole = numbers.length === 1 && (known === undefined ? numbers[0] === '1' : known === 1);
    return isWhole ? name : words.parts(name, numbers);
  });
}

function describeOtherTarget(target: string, { devices, words }: NamedIn): string {
  const [id = '', ...path] = target.split('/');
  if (!devices.some((one) => one.id === id)) return target;
  const name = deviceText(id, devices);
  const what = path.filter((segment) => !/^(\d+|all)$/.test(segment));
  return what.length === 0 ? name : words.pathOf(what.map(readableWords).join(', '), name);
}

function listed(names: readonly string[], words: TargetWords): string {
  return names.length <= MAX_TARGETS ? names.join(', ') : `${words.counted(names.length, 'devices', undefined)}: ${some(names, words)}`;
}

function countedThings(names: readonly string[], things: readonly string[], { devices, words }: NamedIn): string {
  const areDevices = things.every((target) => devices.some(({ id }) => id === target.split('/', 1)[0]));
  const places = areDevices && things.length > names.length ? things.length : undefined;
  return `${words.counted(names.length, areDevices ? 'devices' : 'things', places)}: ${some(names, words)}`;
}

function some(names: readonly string[], words: TargetWords): string {
  const more = names.length - MAX_NAMES;
  return more > 0 ? words.andMore(names.slice(0, MAX_NAMES).join(', '), more) : names.join(', ');
}
