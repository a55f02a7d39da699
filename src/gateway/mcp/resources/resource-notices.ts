import type { Principal } from '../../../core/access/principal.ts';
import type { DeviceDirectory } from '../../../core/devices/device-directory.ts';
import type { EventBus, HubEvent } from '../../../core/events.ts';
import type { DeviceId } from '../../../core/ids.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { CallerSight } from '../../devices/caller-sight.ts';
import type { McpNotices } from '../mcp-feature.ts';
import { areaUris, deviceUris, sensorUri } from './resource-uri.ts';

/** What changes within this time is told once. */
const GATHER_MS = 250;

const LIST_EVENTS: ReadonlySet<string> = new Set(['device.added', 'device.removed', 'device.changed']);
const DEVICE_EVENTS: ReadonlySet<string> = new Set([...LIST_EVENTS, 'device.reachability', 'device.event']);

type MayRead = (principal: Principal) => boolean;

interface NoticeCollaborators {
  readonly events: EventBus;
  readonly directory: Pick<DeviceDirectory, 'get'>;
  readonly sight: CallerSight;
  readonly clock: Clock;
  readonly notices: McpNotices;
}

/** Tells MCP clients what changes in the home: of each resource those that subscribed to it and may read it. */
export class ResourceNotices implements Disposable {
  readonly #events: EventBus;
  readonly #directory: NoticeCollaborators['directory'];
  readonly #sight: CallerSight;
  readonly #clock: Clock;
  readonly #notices: McpNotices;
  readonly #updated = new Map<string, MayRead>();
  /** Devices that came, went or changed; whoever may know of none of them hears nothing. */
  readonly #listed = new Set<string>();
  #stop: (() => void) | undefined;
  #stopTimer: (() => void) | undefined;

  constructor({ events, directory, sight, clock, notices }: NoticeCollaborators) {
    this.#events = events;
    this.#directory = directory;
    this.#sight = sight;
    this.#clock = clock;
    this.#notices = notices;
  }

  start(): void {
    this.#stop ??= this.#events.listen((event) => this.#hear(event));
  }

  [Symbol.dispose](): void {
    this.#stop?.();
    this.#stopTimer?.();
    this.#stop = undefined;
    this.#stopTimer = undefined;
  }

  #hear({ type, subject }: HubEvent): void {
    if (type === 'sensor.reading') this.#ofSensor(subject);
    if (LIST_EVENTS.has(type)) this.#listed.add(subject);
    if (DEVICE_EVENTS.has(type)) this.#ofDevice(subject);
  }

  #ofSensor(sensor: string): void {
    this.#put(sensorUri(sensor), (principal) => this.#sight.mayRead(principal, sensor));
    this.#ofDevice(sensor.split('/', 1)[0] ?? '');
  }

  #ofDevice(id: string): void {
    const device = this.#directory.get(id as DeviceId);
    const maySee: MayRead = (principal) => this.#sight.maySee(principal, id as DeviceId);
    const { names } = this.#sight;
    const ofArea = device?.area === undefined ? [] : areaUris(device.area, names);
    for (const uri of [...deviceUris(id, names), ...ofArea]) this.#put(uri, maySee);
  }

  #put(uri: string, mayRead: MayRead): void {
    const other = this.#updated.get(uri);
    // Two devices of an area may be seen by different callers.
    this.#updated.set(uri, other ? (principal) => other(principal) || mayRead(principal) : mayRead);
    this.#stopTimer ??= this.#clock.after(GATHER_MS, () => this.#tell());
  }

  #tell(): void {
    this.#stopTimer = undefined;
    const updated = [...this.#updated];
    this.#updated.clear();
    const listed = [...this.#listed];
    this.#listed.clear();
    if (listed.length > 0) this.#notices.resourcesChanged(({ principal }) => listed.some((id) => this.#concerns(principal, id)));
    for (const [uri, mayRead] of updated) this.#notices.resourceUpdated(uri, mayRead);
  }

  /** Of some devices a caller knows their sensors alone. */
  #concerns(principal: Principal, device: string): boolean {
    if (this.#sight.maySee(principal, device as DeviceId)) return true;
    return this.#sight.readings(principal).some(({ sensor }) => sensor.device === device);
  }
}
