import type { Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { AtmoError } from '../../core/errors.ts';
import type { EventBus, HubEvent } from '../../core/events.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { VisibleHome } from '../../http/visible-home.ts';
import type { McpCaller, McpFeature, McpListener, McpNotifier } from '../mcp-feature.ts';
import { listPage } from '../pagination.ts';
import { areaUris, deviceUris, type ResourceContents, type ResourceSource, sensorUri } from './resource-source.ts';

/** Maximum number of URIs to which one session or stream can subscribe. */
const MAX_SUBSCRIPTIONS = 512;
const MAX_URI = 2_048;

interface ResourceFeatureParts {
  readonly sources: readonly ResourceSource[];
  /** Sends change notifications from `start` until it is disposed. */
  readonly notifier: Pick<ResourceChanges, 'start'> & Disposable;
}

/** Returns the methods `resources/…`. They list resources and templates, read contents and, for sessions, manage subscriptions. */
export function resourceFeature({ sources, notifier }: ResourceFeatureParts): McpFeature {
  notifier.start();
  return {
    close: () => notifier[Symbol.dispose](),
    admitSubscriptions: (uris, listener) => admit(sources, uris, listener),
    capabilities: { resources: { listChanged: true, subscribe: true } },
    methods: {
      'resources/list': async ({ cursor }, caller) => listResources(sources, caller, cursor),
      'resources/templates/list': async ({ cursor }, caller) => listTemplates(sources, caller, cursor),
      'resources/read': async (params, caller) => {
        const contents = await contentsOf(sources, uriIn(params), caller);
        return { contents: contents.map((part) => ({ ...part })) };
      },
      'resources/subscribe': async (params, caller) => subscribe(sources, uriIn(params), caller),
      'resources/unsubscribe': async (params, caller) => {
        caller.session?.unsubscribe(uriIn(params));
        return {};
      },
    },
  };
}

function listResources(sources: readonly ResourceSource[], caller: McpCaller, cursor: Json | undefined): JsonObject {
  const all = sources.flatMap((source) => source.list(caller));
  const { items, nextCursor } = listPage(all, ({ uri }) => uri, cursor);
  return { resources: items.map((entry) => ({ ...entry })), ...(nextCursor !== undefined && { nextCursor }) };
}

function listTemplates(sources: readonly ResourceSource[], caller: McpCaller, cursor: Json | undefined): JsonObject {
  const all = sources.flatMap((source) => source.templates(caller));
  const { items, nextCursor } = listPage(all, ({ uriTemplate }) => uriTemplate, cursor);
  return { resourceTemplates: items.map((template) => ({ ...template })), ...(nextCursor !== undefined && { nextCursor }) };
}

function subscribe(sources: readonly ResourceSource[], uri: string, caller: McpCaller): JsonObject {
  const { session } = caller;
  if (!session) throw new AtmoError('NOT_SUPPORTED', 'Only sessions have resources/subscribe; listen with subscriptions/listen instead');
  admit(sources, [uri], caller);
  if (session.subscriptions.size >= MAX_SUBSCRIPTIONS && !session.subscriptions.has(uri)) {
    throw new AtmoError('RESOURCE_EXCEEDED', `A session subscribes to ${MAX_SUBSCRIPTIONS} resources at most; unsubscribe from some first`);
  }
  session.subscribe(uri);
  return {};
}

/** Checks URIs without reading the resources, since a request may contain hundreds. */
function admit(sources: readonly ResourceSource[], uris: readonly string[], listener: McpListener): void {
  if (uris.length > MAX_SUBSCRIPTIONS) {
    throw new AtmoError('RESOURCE_EXCEEDED', `A stream waits for ${MAX_SUBSCRIPTIONS} resources at most; open another for the rest`);
  }
  const isTold = sources.map((source) => source.subscribable(listener));
  const silent = uris.find((uri) => !isTold.some((tells) => tells(uri)));
  if (silent === undefined) return;
  throw new AtmoError('NOT_FOUND', `No changes are told of ${JSON.stringify(silent.slice(0, 256))}; subscribe to a URI of resources/list`, {
    uri: silent.slice(0, MAX_URI),
  });
}

/** Reads a resource. Rejects with NOT_FOUND, which names the URI, if the resource is missing or the caller may not read it. */
async function contentsOf(sources: readonly ResourceSource[], uri: string, caller: McpCaller): Promise<readonly ResourceContents[]> {
  for (const source of sources) {
    const contents = await source.read(uri, caller);
    if (contents) return contents;
  }
  throw new AtmoError('NOT_FOUND', `There is no resource ${JSON.stringify(uri.slice(0, 256))}; resources/list tells what there is`, {
    uri,
  });
}

function uriIn({ uri }: JsonObject): string {
  if (typeof uri === 'string' && uri !== '' && uri.length <= MAX_URI) return uri;
  throw new AtmoError('VALIDATION_ERROR', 'The parameter uri is missing; resources/list tells the URIs');
}

/** Milliseconds in which changes are collected into one notification. */
const GATHER_MS = 250;

const LIST_EVENTS: ReadonlySet<string> = new Set(['device.added', 'device.removed', 'device.changed']);
const DEVICE_EVENTS: ReadonlySet<string> = new Set([...LIST_EVENTS, 'device.reachability', 'device.event']);

type MayRead = (principal: Principal) => boolean;

interface ResourceChangeCollaborators extends Pick<HubContext, 'clock' | 'events'> {
  readonly directory: Pick<DeviceDirectory, 'get'>;
  readonly home: VisibleHome;
  readonly notifier: McpNotifier;
}

/** Notifies MCP clients of changes to resources that they subscribe to and may read, and of changes to their list of resources. */
export class ResourceChanges implements Disposable {
  readonly #events: EventBus;
  readonly #directory: ResourceChangeCollaborators['directory'];
  readonly #home: VisibleHome;
  readonly #clock: Clock;
  readonly #notifier: McpNotifier;
  readonly #updated = new Map<string, MayRead>();
  /** Devices that were added, removed or changed. Only clients that may see one of them are notified. */
  readonly #listed = new Set<string>();
  #stop: (() => void) | undefined;
  #stopTimer: (() => void) | undefined;

  constructor({ events, directory, home, clock, notifier }: ResourceChangeCollaborators) {
    this.#events = events;
    this.#directory = directory;
    this.#home = home;
    this.#clock = clock;
    this.#notifier = notifier;
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
    this.#put(sensorUri(sensor), (principal) => this.#home.mayRead(principal, sensor));
    this.#ofDevice(sensor.split('/', 1)[0] ?? '');
  }

  #ofDevice(id: string): void {
    const device = this.#directory.get(id as DeviceId);
    const maySee: MayRead = (principal) => this.#home.maySee(principal, id as DeviceId);
    const { names } = this.#home;
    const ofArea = device?.area === undefined ? [] : areaUris(device.area, names);
    for (const uri of [...deviceUris(id, names), ...ofArea]) this.#put(uri, maySee);
  }

  #put(uri: string, mayRead: MayRead): void {
    const other = this.#updated.get(uri);
    // Two devices of an area can change the same URI. A client is notified if it may see one of the devices.
    this.#updated.set(uri, other ? (principal) => other(principal) || mayRead(principal) : mayRead);
    this.#stopTimer ??= this.#clock.after(GATHER_MS, () => this.#tell());
  }

  #tell(): void {
    this.#stopTimer = undefined;
    const updated = [...this.#updated];
    this.#updated.clear();
    const listed = [...this.#listed];
    this.#listed.clear();
    if (listed.length > 0) this.#notifier.resourcesChanged(({ principal }) => listed.some((id) => this.#concerns(principal, id)));
    for (const [uri, mayRead] of updated) this.#notifier.resourceUpdated(uri, mayRead);
  }

  /** Returns whether the caller may see this device, or read one of its sensors. */
  #concerns(principal: Principal, device: string): boolean {
    if (this.#home.maySee(principal, device as DeviceId)) return true;
    return this.#home.readings(principal).some(({ sensor }) => sensor.device === device);
  }
}
