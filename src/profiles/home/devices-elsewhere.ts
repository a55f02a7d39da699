import type { GroupsElsewhere, ResourceGroup } from '../../core/access/permission.ts';
import { areaKey } from '../../core/devices/device-facts.ts';
import type { MeshView } from '../../core/mesh/mesh-view.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { RemoteTools } from '../../tools/elsewhere/remote-tools.ts';
import { typesAndFamilies } from './device-families.ts';

/** The part of the mesh that tells of devices. */
interface DeviceNews {
  readonly view: Pick<MeshView, 'peers'>;
  readonly tools: Pick<RemoteTools, 'all'>;
}

interface DeviceGroupsTold {
  readonly types: ReadonlySet<string>;
  readonly area?: string;
}

/** Hub → device → what it tells of it. */
type Told = ReadonlyMap<string, Map<string, DeviceGroupsTold>>;

const NOTHING: Told = new Map();
/** Of a hub that keeps its list of devices to itself. */
const NO_TYPES: ReadonlySet<string> = new Set();

/**
 * Types and areas of the devices of other hubs: the type as the hub announces the device, the area as the tools of the device
 * say. What a hub tells is about its own devices alone, whatever ids it gives them.
 */
export class DevicesElsewhere implements GroupsElsewhere {
  readonly #news: () => DeviceNews | undefined;
  /** Told as long as the list of tools is the same, which every announcement replaces. */
  #told: { readonly tools: readonly RegisteredTool[]; readonly hubs: Told } | undefined;

  constructor(news: () => DeviceNews | undefined) {
    this.#news = news;
  }

  /** A resource is a device's id, or `<device>/<reading>`. */
  isMember(resource: string, { by, name }: ResourceGroup, hubs: readonly string[]): boolean {
    const device = resource.split('/', 1)[0] ?? resource;
    const told = this.#current();
    return hubs.some((hub) => {
      const facts = told.get(hub)?.get(device);
      return by === 'type' ? (facts?.types.has(name) ?? false) : facts?.area === name;
    });
  }

  #current(): Told {
    const news = this.#news();
    if (!news) return NOTHING;
    const tools = news.tools.all();
    if (this.#told?.tools !== tools) this.#told = { tools, hubs: toldBy(news.view, tools) };
    return this.#told.hubs;
  }
}

function toldBy(view: DeviceNews['view'], tools: readonly RegisteredTool[]): Told {
  const told = new Map(
    view.peers().map(({ id, devices }) => {
      const facts = devices.map((device): [string, DeviceGroupsTold] => [device.id, { types: typesAndFamilies([typeName(device.type)]) }]);
      return [id as string, new Map(facts)];
    }),
  );
  for (const { definition, hubs } of tools) {
    const { device, area } = definition.metadata;
    if (device === undefined || area === undefined) continue;
    for (const hub of hubs?.() ?? []) {
      const devices = told.get(hub);
      devices?.set(device, { types: devices.get(device)?.types ?? NO_TYPES, area: areaKey(area) });
    }
  }
  return told;
}

/** `dimmable_light` as the device library has it, `DimmableLight`. */
function typeName(announced: string): string {
  return announced.replace(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
