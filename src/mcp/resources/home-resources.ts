import type { Clock } from '../../core/clock.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import { AGGREGATIONS, type Reading, type ReadingStore } from '../../core/devices/sensor-readings.ts';
import { compareText } from '../../core/edit-distance.ts';
import type { DeviceId } from '../../core/ids.ts';
import { deviceView, readingView } from '../../http/routes/device-view.ts';
import { HISTORY_QUERY, historyView } from '../../http/routes/sensor-routes.ts';
import { parseQuery } from '../../http/server/query.ts';
import type { ToolCatalogue } from '../../http/tool-catalogue.ts';
import type { VisibleHome } from '../../http/visible-home.ts';
import { isAreaNamed, isDeviceNamed, resolveArea, resolveDevice, withAliases } from '../../tools/names/resolve-names.ts';
import type { McpCaller, McpListener } from '../mcp-feature.ts';
import {
  areaUri,
  areaUris,
  deviceUri,
  deviceUris,
  historyOf,
  jsonContents,
  parseHomeUri,
  type ResourceContents,
  type ResourceEntry,
  type ResourceSource,
  type ResourceTemplate,
  sensorUri,
} from './resource-source.ts';

const MIME = 'application/json';
/** Default number of points in a history, few enough for a model. */
const DEFAULT_POINTS = 500;
const HISTORY_TEMPLATE = 'atmo://sensors/{+sensor}/history{?since,until,every,agg,limit}';
const TEMPLATES: readonly ResourceTemplate[] = [
  {
    uriTemplate: 'atmo://areas/{area}',
    name: 'area',
    title: 'Area',
    description: 'A room or other area of the home: its devices with reachability and present readings',
    mimeType: MIME,
  },
  {
    uriTemplate: 'atmo://devices/{device}',
    name: 'device',
    title: 'Device',
    description: 'A device: area, types, reachability, present readings, and the names of its tools',
    mimeType: MIME,
  },
  {
    uriTemplate: 'atmo://sensors/{+sensor}',
    name: 'sensor',
    title: 'Sensor now',
    description: 'The present value of a sensor, <device id>/<reading>, with unit and age',
    mimeType: MIME,
  },
  {
    uriTemplate: HISTORY_TEMPLATE,
    name: 'sensor-history',
    title: 'Sensor history',
    description:
      'Values of a sensor over time, oldest first; the last 24 h unless since says 7d or an ISO 8601 time. every=1h with agg avg, min, max or sum makes buckets',
    mimeType: MIME,
  },
];

/** The parts of the hub that are needed for the resources of the home. */
export interface HomeResourceParts {
  readonly home: VisibleHome;
  readonly readings: ReadingStore;
  readonly catalogue: ToolCatalogue;
  readonly clock: Clock;
}

/** The areas, devices and sensors of the home as MCP resources. */
export class HomeResources implements ResourceSource {
  readonly #parts: HomeResourceParts;

  constructor(parts: HomeResourceParts) {
    this.#parts = parts;
  }

  list(caller: McpCaller): readonly ResourceEntry[] {
    const devices = this.devices(caller);
    return [...this.areas(caller).map(areaEntry), ...devices.map(deviceEntry), ...this.#readings(caller).map(sensorEntry)];
  }

  templates(): readonly ResourceTemplate[] {
    return TEMPLATES;
  }

  async read(uri: string, caller: McpCaller): Promise<readonly ResourceContents[] | undefined> {
    const named = parseHomeUri(uri);
    const value = named && this.#valueOf(named, caller);
    return value && [jsonContents(uri, value)];
  }

  subscribable(listener: McpListener): (uri: string) => boolean {
    const { names } = this.#parts.home;
    const ofDevices = this.devices(listener).flatMap(({ id }) => deviceUris(id, names));
    const ofAreas = this.areas(listener).flatMap((area) => areaUris(area, names));
    const uris = new Set([...ofDevices, ...ofAreas, ...this.#readings(listener).map(({ sensor }) => sensorUri(sensor.id))]);
    return (uri) => uris.has(uri);
  }

  values(uriTemplate: string, variable: string, caller: McpCaller): readonly string[] | undefined {
    if (!TEMPLATES.some((template) => template.uriTemplate === uriTemplate)) return undefined;
    const { names } = this.#parts.home;
    if (variable === 'area') return this.areas(caller).flatMap((area) => [area, ...names.areaNames(area).aliases]);
    if (variable === 'device') return this.devices(caller).flatMap(({ id }) => [id, ...names.deviceAliases(id)]);
    if (variable === 'sensor') return this.#readings(caller).map(({ sensor }) => sensor.id);
    if (variable === 'agg') return AGGREGATIONS;
    if (variable === 'since' || variable === 'every') return ['15m', '1h', '6h', '24h', '7d'];
    return undefined;
  }

  /** Returns the sorted areas in which the caller may see a device or sensor. */
  areas(caller: McpListener): readonly string[] {
    const named = [...this.devices(caller), ...this.#readings(caller).map(({ sensor }) => sensor)].map(({ area }) => area);
    const byKey = new Map(named.filter((name) => name !== undefined).map((name) => [areaKey(name), name]));
    return [...byKey.values()].sort(compareText);
  }

  /** Returns the devices in the caller's view, sorted by id. */
  devices({ principal, view }: McpListener): readonly Device[] {
    const devices = this.#parts.home.devices(principal).filter(({ area }) => isInView(area, view));
    return devices.toSorted((a, b) => compareText(a.id, b.id));
  }

  #valueOf(named: NonNullable<ReturnType<typeof parseHomeUri>>, caller: McpCaller): object | undefined {
    if (named.kind === 'area') return this.#area(named.id, caller);
    if (named.kind === 'device') return this.#device(named.id, caller);
    const reading = this.#readings(caller).find(({ sensor }) => sensor.id === named.id);
    if (reading) return named.query === '' ? readingView(reading, this.#parts.clock.now()) : undefined;
    return this.#history(historyOf(named.id), named.query, caller);
  }

  #area(text: string, caller: McpCaller): object | undefined {
    const { names } = this.#parts.home;
    const areas = this.areas(caller);
    if (!areas.some((area) => isAreaNamed(text, area, names))) return undefined;
    const name = resolveArea(text, areas, names);
    const key = areaKey(name);
    const isThere = ({ area }: { readonly area?: string }) => area !== undefined && areaKey(area) === key;
    const devices = this.devices(caller).filter(isThere);
    const readings = this.#readings(caller).filter(({ sensor }) => isThere(sensor));
    return {
      area: name,
      devices: devices.map(briefView),
      readings: this.#views(readings),
    };
  }

  #device(text: string, caller: McpCaller): object | undefined {
    const { catalogue, home, clock } = this.#parts;
    const called = withAliases(this.devices(caller), home.names);
    if (!called.some((known) => isDeviceNamed(text, known))) return undefined;
    const id = resolveDevice(text, called, { canSee: () => true });
    const device = home.device(caller.principal, id);
    const maySee = (other: DeviceId) => home.maySee(caller.principal, other);
    const tools = catalogue.all(caller.principal, { device: id }).map((tool) => catalogue.modelName(tool));
    const readings = this.#readings(caller).filter(({ sensor }) => sensor.device === id);
    return { ...deviceView(device, { nowMs: clock.now(), maySee, names: home.names }), readings: this.#views(readings), tools };
  }

  #history(sensor: string | undefined, text: string, caller: McpCaller): object | undefined {
    if (sensor === undefined || !this.#readings(caller).some((reading) => reading.sensor.id === sensor)) return undefined;
    const query = { limit: DEFAULT_POINTS, ...parseQuery(new URLSearchParams(text), HISTORY_QUERY, this.#parts.clock.now()) };
    return historyView(this.#parts, caller.principal, { sensor, query });
  }

  #readings({ principal, view }: McpListener): readonly Reading[] {
    const readings = this.#parts.home.readings(principal).filter(({ sensor }) => isInView(sensor.area, view));
    return readings.toSorted((a, b) => compareText(a.sensor.id, b.sensor.id));
  }

  #views(readings: readonly Reading[]): readonly object[] {
    this.#parts.home.noteRead(readings.map(({ sensor }) => sensor.device));
    return readings.map((reading) => readingView(reading, this.#parts.clock.now()));
  }
}

function isInView(area: string | undefined, view: McpListener['view']): boolean {
  return view.kind !== 'area' || (area !== undefined && areaKey(area) === areaKey(view.area));
}

function areaEntry(name: string): ResourceEntry {
  return { uri: areaUri(name), name: areaKey(name), title: name, mimeType: MIME };
}

function deviceEntry({ id, name }: Device): ResourceEntry {
  return { uri: deviceUri(id), name: id, title: name, mimeType: MIME };
}

function sensorEntry({ sensor }: Reading): ResourceEntry {
  return { uri: sensorUri(sensor.id), name: sensor.id, title: sensor.title, mimeType: MIME };
}

function briefView({ id, name, deviceTypes, reachability }: Device): object {
  return { id, name, device_types: deviceTypes, reachability };
}
