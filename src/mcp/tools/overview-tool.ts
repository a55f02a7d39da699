import type { MeshPorts } from '../../calls/mesh-ports.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import type { Reading, SensorInfo } from '../../core/devices/sensor-readings.ts';
import type { JsonObject } from '../../core/json.ts';
import type { ToolCatalogue } from '../../http/tool-catalogue.ts';
import type { VisibleHome } from '../../http/visible-home.ts';
import { p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { isRoomAir } from '../../tools/names/resolve-names.ts';
import { successResult } from '../calls/tool-result.ts';
import { type HomeTool, homeTool } from './home-tool.ts';

interface OverviewParts {
  readonly home: VisibleHome;
  readonly catalogue: Pick<ToolCatalogue, 'visibleTo' | 'all'>;
  readonly mesh: Pick<MeshPorts, 'tools'>;
}

/** Returns `home_overview`, which most models call first. */
export function overviewTool({ home, catalogue, mesh }: OverviewParts): HomeTool {
  return homeTool(
    {
      name: 'home_overview',
      title: 'Home at a glance',
      description:
        'Areas with their devices, what is on or open, alarms, and what cannot be reached. With an area: each device there with its id and present values. Start here.',
      parameters: { area: p.string({ description: 'Only this area', maxLength: 64 }).optional() },
    },
    async ({ area }, { principal }) => {
      const visible = { devices: home.devices(principal), readings: home.readings(principal) };
      if (area === undefined) {
        await mesh.tools.awaitComplete();
        return successResult({
          ...homeOverview(visible),
          ...scenesIn(catalogue.all(principal)),
          ...remoteDeviceHint(mesh.tools.all().filter(catalogue.visibleTo(principal))),
        });
      }
      const name = home.area(principal, area);
      const devices = visible.devices.filter((device) => device.area !== undefined && areaKey(device.area) === areaKey(name));
      const ids = new Set(devices.map(({ id }) => id));
      return successResult(areaOverview(name, { devices, readings: visible.readings.filter(({ sensor }) => ids.has(sensor.device)) }));
    },
  );
}

/** Returns the names of the scenes by the name of their tool. Any of them runs as a tool, or through run_scene. */
function scenesIn(tools: readonly RegisteredTool[]): JsonObject {
  const scenes = tools.filter(({ definition }) => definition.namespace === 'scene');
  if (scenes.length === 0) return {};
  const named = scenes.slice(0, MAX.names).map(({ definition }) => [`scene:${definition.name}`, definition.metadata.title]);
  return { scenes: Object.fromEntries(named), ...leftOut('more_scenes', scenes.length - MAX.names) };
}

function remoteDeviceHint(tools: readonly RegisteredTool[]): JsonObject {
  const count = tools.filter(({ definition }) => definition.metadata.device !== undefined).length;
  return count === 0 ? {} : { other_hubs: { device_tools: count, how: 'search_tools finds them, and they run from here' } };
}

/** Maximum numbers of entries in an overview. The overview states how many were omitted. */
const MAX = { areas: 40, names: 12, alarms: 20, devices: 60 } as const;

const ALARM_KINDS = new Set(['alarm', 'smoke', 'fault', 'battery_alert', 'filter_alert']);
/** Matches values of an alarm sensor that mean that there is no alarm. */
const CALM = /^(normal|ok|no_error|none|inactive|charged|full)$/i;

/** The part of a home that a caller may see. */
interface HomeSnapshot {
  readonly devices: readonly Device[];
  readonly readings: readonly Reading[];
}

/** Returns an overview of the home: devices by area, devices that are on, open or unlocked, alarms, and unreachable devices. */
function homeOverview({ devices, readings }: HomeSnapshot): JsonObject {
  const areas = [...Map.groupBy(devices, ({ area }) => area ?? '')].sort(([a], [b]) => a.localeCompare(b));
  const of = Map.groupBy(readings, ({ sensor }) => sensor.device);
  return {
    devices: devices.length,
    areas: areas.slice(0, MAX.areas).map(([area, members]) => areaView(area, members, of)),
    ...leftOut('more_areas', areas.length - MAX.areas),
    ...troubles({ devices, readings }),
  };
}

function areaOverview(area: string, { devices, readings }: HomeSnapshot): JsonObject {
  const of = Map.groupBy(readings, ({ sensor }) => sensor.device);
  return {
    area,
    devices: devices.slice(0, MAX.devices).map((device) => deviceView(device, of.get(device.id) ?? [])),
    ...leftOut('more_devices', devices.length - MAX.devices),
    ...troubles({ devices, readings }),
  };
}

function areaView(area: string, devices: readonly Device[], of: ReadonlyMap<string, readonly Reading[]>): JsonObject {
  const told = devices.flatMap((device) => (of.get(device.id) ?? []).map((reading) => ({ device, reading })));
  const namesOf = (isSo: (reading: Reading) => boolean) => [
    ...new Set(told.filter(({ reading }) => isSo(reading)).map(({ device }) => device.name)),
  ];
  const ambient = told.filter(({ device, reading }) => isRoomAir(reading.sensor, device.deviceTypes)).map(({ reading }) => reading);
  return {
    area: area === '' ? null : area,
    devices: devices.length,
    ...named('on', namesOf(isOn)),
    ...named('open', namesOf(isOpen)),
    ...named('unlocked', namesOf(isUnlocked)),
    // Sensors without an area have no common mean, since they can be anywhere: a board's processor, a probe in a pond.
    ...(area !== '' && meansOf(ambient)),
  };
}

/** Returns the mean of a room's air sensors for each kind of sensor. */
function meansOf(readings: readonly Reading[]): JsonObject {
  const measured = readings.filter(({ value }) => typeof value === 'number');
  const kinds = Map.groupBy(measured, ({ sensor }) => sensor.kind);
  return Object.fromEntries(
    [...kinds].flatMap(([kind, [first, ...others]]) => {
      if (!first) return [];
      const sum = [first, ...others].reduce((total, { value }) => total + Number(value), 0);
      return [[kind, valueText({ sensor: first.sensor, value: Math.round((sum / (others.length + 1)) * 100) / 100 })]];
    }),
  );
}

function deviceView(device: Device, readings: readonly Reading[]): JsonObject {
  return {
    id: device.id,
    name: device.name,
    type: device.deviceTypes.join(', '),
    ...(device.reachability !== 'reachable' && { reachability: device.reachability }),
    now: Object.fromEntries(readings.filter(({ value }) => value !== null).map((reading) => [reading.sensor.name, valueText(reading)])),
  };
}

function troubles({ devices, readings }: HomeSnapshot): JsonObject {
  const alarms = readings.filter(isAlarm);
  const away = devices.filter(({ reachability }) => reachability === 'unreachable').map(({ name }) => name);
  return {
    alarms: alarms.slice(0, MAX.alarms).map(({ sensor, value }) => ({ sensor: sensor.id, title: sensor.title, value })),
    ...leftOut('more_alarms', alarms.length - MAX.alarms),
    ...named('unreachable', away),
  };
}

function isOn({ sensor, value }: Reading): boolean {
  return sensor.kind === 'on_off' && sensor.name.startsWith('is_on') && isTrue(value);
}

function isOpen({ sensor, value }: Reading): boolean {
  if (sensor.kind === 'contact') return isTrue(value);
  return sensor.kind === 'valve' && /^open/i.test(String(value));
}

/** Returns whether a reading shows that a lock is unlocked. Its door may still be closed. */
function isUnlocked({ sensor, value }: Reading): boolean {
  return sensor.kind === 'lock' && /^(un|not_)/i.test(String(value));
}

function isAlarm({ sensor, value }: Reading): boolean {
  if (!ALARM_KINDS.has(sensor.kind) || value === null) return false;
  return typeof value === 'string' ? !CALM.test(value) : isTrue(value);
}

/** Returns whether a value means on. The history stores on and off as 1 and 0. */
function isTrue(value: Reading['value']): boolean {
  return value === true || value === 1;
}

/** Returns a value with its unit, if it has one. */
function valueText({ sensor, value }: Pick<Reading, 'value'> & { readonly sensor: Pick<SensorInfo, 'unit'> }): Reading['value'] {
  return sensor.unit === '' || value === null ? value : `${value} ${sensor.unit}`;
}

function named(member: string, names: readonly string[]): JsonObject {
  if (names.length === 0) return {};
  return { [member]: names.slice(0, MAX.names), ...leftOut(`more_${member}`, names.length - MAX.names) };
}

function leftOut(member: string, count: number): JsonObject {
  return count > 0 ? { [member]: count } : {};
}
