import { type Clock, orAborted } from '../../../src/core/clock.ts';
import type { DeviceAdministration } from '../../../src/core/devices/device-administration.ts';
import type {
  DeviceAccess,
  DeviceCallOptions,
  DeviceChange,
  DeviceDirectory,
  ExpectedValue,
  ReadBack,
} from '../../../src/core/devices/device-directory.ts';
import type {
  AttributePath,
  AttributeReading,
  CommandPath,
  Device,
  DeviceDescription,
  DeviceEvent,
  Reachability,
} from '../../../src/core/devices/device-model.ts';
import type { BridgeNodes, BridgingDeviceSource } from '../../../src/core/devices/matter-bridge.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { DeviceId } from '../../../src/core/ids.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { LAMP_CLUSTERS, type LampCommand, type SimulatedLamp } from './simulated-lamp.ts';

/** What happens to one interaction with a lamp. */
export interface LampMood {
  /** Milliseconds that a message takes. */
  readonly travelMs: number;
  /** No message arrives. */
  readonly isLost: boolean;
  /** The lamp does what a command says, and its answer is lost. */
  readonly isSilent: boolean;
}

export interface DeviceSourceParts {
  readonly clock: Clock;
  readonly lamps: readonly SimulatedLamp[];
  readonly mood: () => LampMood;
  /** Does something at the lamps, whatever becomes of the hub. */
  readonly toLamp: (delayMs: number, work: () => void) => void;
  /** Does something in the hub, if it still runs then. */
  readonly toHub: (delayMs: number, work: () => void) => void;
  /** Called with each command when it is sent, whether it arrives or not. */
  readonly onCommand?: (command: LampCommand) => void;
}

/** Limit of an interaction with a device that always listens (`src/matter/devices/device-interactions.ts`). */
const LIMIT_MS = 4_500;
/** Devices wait so long before they report a change, so that several changes share a report. */
const REPORT_DELAY_MS = 50;
/** The hub waits so long for the report of what a command has changed. */
const REPORT_WAIT_MS = 150;
/** A device that is silent for so long is not reachable. */
const SILENCE_MS = 9_000;
const ENDPOINT = 1;

const validator = new SchemaValidator();

/** The lamps as a hub with a Matter fabric has them: with messages that take time and get lost, reports and reachability. */
export class SimulatedDeviceSource implements BridgingDeviceSource {
  readonly administration = NO_ADMINISTRATION;
  readonly bridges = NO_BRIDGES;
  readonly #parts: DeviceSourceParts;
  readonly #known = new Map<DeviceId, KnownLamp>();
  readonly #changes = new Set<(change: DeviceChange) => void>();
  readonly #reports = new Set<(reading: AttributeReading) => void>();
  /** Every second read-back waits for a report, so that both ways are gone. */
  #isReportAwaited = false;

  constructor(parts: DeviceSourceParts) {
    this.#parts = parts;
    for (const lamp of parts.lamps) this.#known.set(lamp.device.id, new KnownLamp(lamp));
  }

  async start(): Promise<void> {
    for (const known of this.#known.values()) {
      known.lamp.onChange = () => this.#report(known);
      if (known.lamp.isPowered) this.#report(known);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { lamp } of this.#known.values()) lamp.onChange = undefined;
  }

  readonly directory: DeviceDirectory = {
    list: () => [...this.#known.values()].map((known) => known.device),
    get: (id) => this.#known.get(id)?.device,
    describe: (id) => this.#known.get(id)?.describe(),
    onChange: (listener) => subscribed(this.#changes, listener),
  };

  readonly access: DeviceAccess = {
    cached: (path) => this.#find(path).cached(path),
    noteRead: () => {},
    isCurrent: (id) => this.#known.get(id)?.isCurrent === true,
    read: (paths, options) => this.#read(paths, options),
    awaitReports: (values) => this.#awaitReports(values),
    write: async (path, _value) => {
      this.#find(path).attribute(path);
      throw new AtmoError('NOT_SUPPORTED', `${path.cluster}.${path.attribute} of ${path.device} cannot be written`);
    },
    invoke: (path, fields, options) => this.#invoke(path, fields, options),
    onReport: (listener) => subscribed(this.#reports, listener),
    onEvent: (listener) => subscribed(new Set<(event: DeviceEvent) => void>(), listener),
  };

  async #read(paths: readonly AttributePath[], options: DeviceCallOptions): Promise<readonly AttributeReading[]> {
    const readings: AttributeReading[] = [];
    for (const [device, group] of Map.groupBy(paths, (path) => path.device)) {
      const known = this.#find({ device });
      for (const path of group) known.attribute(path);
      const all = await this.#readLamp(known, options);
      readings.push(...all.filter((reading) => group.some((path) => isAt(reading, path))));
    }
    const byKey = new Map(readings.map((reading) => [`${reading.path.device} ${keyOf(reading.path)}`, reading]));
    return paths.flatMap((path) => byKey.get(`${path.device} ${keyOf(path)}`) ?? []);
  }

  /** Reads a lamp, and again if its answer is older than what it has reported meanwhile, as access over Matter does, also for who has left. */
  async #readLamp(known: KnownLamp, { signal }: DeviceCallOptions): Promise<readonly AttributeReading[]> {
    const answer = await this.#interact(known, { signal, isRead: true, act: () => known.lamp.state });
    const readings = known.take(answer.result, this.#parts.clock.now());
    if (answer.messageId > known.report.messageId) return readings;
    return orAborted(this.#readLamp(known, { signal: new AbortController().signal }), signal);
  }

  #awaitReports(values: readonly ExpectedValue[]): ReadBack {
    const paths = values.map(({ path }) => path);
    const [known] = paths.map((path) => this.#find(path));
    const isKnown = ({ path, isReached }: ExpectedValue) => isReached(known?.cached(path)?.value ?? null);
    this.#isReportAwaited = !this.#isReportAwaited && known !== undefined && !values.every(isKnown);
    const awaited = this.#isReportAwaited && known !== undefined ? new AwaitedReport(known, this.#parts.clock) : undefined;
    return {
      read: async (options) => {
        await awaited?.settled(options.signal);
        const readings =
          awaited?.hasCome && known ? paths.flatMap((path) => known.report.readings.find((one) => isAt(one, path)) ?? []) : [];
        const isReached = readings.length > 0 && readings.every(({ value }, index) => values[index]?.isReached(value));
        return isReached ? readings : this.#read(paths, options);
      },
      [Symbol.dispose]: () => awaited?.[Symbol.dispose](),
    };
  }

  async #invoke(path: CommandPath, fields: JsonObject, options: DeviceCallOptions): Promise<null> {
    const known = this.#find(path);
    const command = named(known.cluster(path).commands, path.command, path.device);
    validator.parameters(command.parameters, fields);
    const { device, cluster } = path;
    if (!options.signal.aborted) this.#parts.onCommand?.({ device, name: `${cluster}.${path.command}`, fields });
    const obey = () => known.lamp.obey(cluster, path.command, fields);
    known.answerId = (await this.#interact(known, { ...options, isRead: false, act: obey })).messageId;
    return null;
  }

  /** One message to a lamp and its answer. What was sent may arrive, even if nobody waits for it any more. */
  #interact<Result>(
    known: KnownLamp,
    { signal, isRead, act }: DeviceCallOptions & { readonly isRead: boolean; readonly act: () => Result },
  ): Promise<Answer<Result>> {
    if (signal.aborted) return Promise.reject(cancelled({ isSent: false }));
    const { promise, resolve, reject } = Promise.withResolvers<Answer<Result>>();
    const leave = () => reject(cancelled({ isSent: !isRead }));
    signal.addEventListener('abort', leave, { once: true });
    const cancelLimit = this.#parts.clock.after(LIMIT_MS, () => {
      this.#lose(known);
      reject(notAnswered({ isRead }));
    });
    this.#exchange(known, act, resolve);
    return promise.finally(() => {
      cancelLimit();
      signal.removeEventListener('abort', leave);
    });
  }

  /** Sends a message to a lamp, which acts and answers, unless the message or the answer is lost. */
  #exchange<Result>({ lamp }: KnownLamp, act: () => Result, answer: (answer: Answer<Result>) => void): void {
    const { mood, toLamp, toHub } = this.#parts;
    const { travelMs, isLost, isSilent } = mood();
    toLamp(travelMs, () => {
      if (!lamp.isPowered || isLost) return;
      const told = { result: act(), messageId: lamp.nextMessageId() };
      if (!isSilent) toHub(travelMs, () => answer(told));
    });
  }

  /** A lamp has changed, or is back: it reports what it shows. */
  #report(known: KnownLamp): void {
    const { toLamp, toHub, mood, clock } = this.#parts;
    toLamp(REPORT_DELAY_MS, () => {
      if (!known.lamp.isPowered) return;
      const { state } = known.lamp;
      const messageId = known.lamp.nextMessageId();
      toHub(mood().travelMs, () => {
        // A device sends a report when the one before was acknowledged, so they come in order.
        if (messageId < known.report.messageId) return;
        const readings = known.take(state, clock.now());
        known.report = { messageId, readings };
        this.#become(known, 'reachable');
        for (const reading of readings) for (const listener of this.#reports) listener(reading);
        clock.after(SILENCE_MS, () => !known.lamp.isPowered && this.#lose(known));
      });
    });
  }

  #lose(known: KnownLamp): void {
    known.isCurrent = false;
    this.#become(known, 'unreachable');
    // A lamp that runs is found again soon.
    this.#parts.toLamp(SILENCE_MS, () => known.lamp.isPowered && this.#report(known));
  }

  #become(known: KnownLamp, reachability: Reachability): void {
    if (known.reachability === reachability) return;
    known.reachability = reachability;
    for (const listener of this.#changes) listener({ kind: 'reachability', device: known.device });
  }

  #find({ device }: { readonly device: DeviceId }): KnownLamp {
    const known = this.#known.get(device);
    if (known) return known;
    throw new AtmoError('DEVICE_NOT_FOUND', `There is no device ${device}`);
  }
}

interface Answer<Result> {
  readonly result: Result;
  readonly messageId: number;
}

interface LampReport {
  readonly messageId: number;
  readonly readings: readonly AttributeReading[];
}

/** Waits for the report that a lamp sends after its answer to a command. */
class AwaitedReport implements Disposable {
  readonly #known: KnownLamp;
  readonly #clock: Clock;
  #settle: (() => void) | undefined;

  constructor(known: KnownLamp, clock: Clock) {
    this.#known = known;
    this.#clock = clock;
    known.onReport.add(this.#onReport);
  }

  /** Whether the lamp has sent a report after its answer. */
  get hasCome(): boolean {
    return this.#known.report.messageId > this.#known.answerId;
  }

  async settled(signal: AbortSignal): Promise<void> {
    if (this.hasCome || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(REPORT_WAIT_MS, resolve);
      this.#settle = () => {
        cancel();
        resolve();
      };
      signal.addEventListener('abort', this.#settle, { once: true });
    });
  }

  [Symbol.dispose](): void {
    this.#known.onReport.delete(this.#onReport);
  }

  readonly #onReport = (): void => {
    if (this.hasCome) this.#settle?.();
  };
}

/** What a hub knows of a lamp. */
class KnownLamp {
  readonly lamp: SimulatedLamp;
  /** The number of the last answer to a command; the lamp numbers its messages in the order in which it sends them. */
  answerId = 0;
  readonly onReport = new Set<() => void>();
  #report: LampReport = { messageId: 0, readings: [] };
  reachability: Reachability = 'unknown';
  isCurrent = false;
  #lastSeenMs = 0;
  readonly #values = new Map<string, AttributeReading>();

  constructor(lamp: SimulatedLamp) {
    this.lamp = lamp;
  }

  /** The last report. */
  get report(): LampReport {
    return this.#report;
  }

  set report(report: LampReport) {
    this.#report = report;
    for (const listener of this.onReport) listener();
  }

  get device(): Device {
    return { ...this.lamp.device, reachability: this.reachability, lastSeenMs: this.#lastSeenMs };
  }

  describe(): DeviceDescription {
    const deviceTypes = [{ id: 0x0101, name: 'DimmableLight', revision: 3 }];
    return { device: this.device, endpoints: [{ endpoint: ENDPOINT, deviceTypes, tags: [], clusters: LAMP_CLUSTERS }] };
  }

  cached(path: AttributePath): AttributeReading | undefined {
    this.attribute(path);
    const reading = this.#values.get(keyOf(path));
    return reading && { ...reading, reachability: this.reachability };
  }

  /** Takes in what the lamp says. */
  take(state: Readonly<Record<string, Json>>, atMs: number): readonly AttributeReading[] {
    this.#lastSeenMs = atMs;
    this.isCurrent = true;
    for (const [key, value] of Object.entries(state)) {
      const [cluster = '', attribute = ''] = key.split('/');
      const path = { device: this.lamp.device.id, endpoint: ENDPOINT, cluster, attribute };
      this.#values.set(key, { path, value, atMs, reachability: 'reachable' });
    }
    return [...this.#values.values()];
  }

  cluster({ endpoint, cluster }: { readonly endpoint: number; readonly cluster: string }) {
    if (endpoint !== ENDPOINT) throw new AtmoError('NOT_SUPPORTED', `${this.lamp.device.id} has no endpoint ${endpoint}`);
    return named(LAMP_CLUSTERS, cluster, this.lamp.device.id);
  }

  attribute(path: AttributePath): void {
    named(this.cluster(path).attributes, path.attribute, this.lamp.device.id);
  }
}

function named<Element extends { readonly name: string }>(elements: readonly Element[], name: string, device: string): Element {
  const found = elements.find((element) => element.name === name);
  if (found) return found;
  throw new AtmoError('NOT_SUPPORTED', `${device} has no ${name}; there are ${elements.map((element) => element.name).join(', ')}`);
}

function isAt(reading: AttributeReading, path: AttributePath): boolean {
  return keyOf(reading.path) === keyOf(path);
}

function keyOf({ cluster, attribute }: AttributePath): string {
  return `${cluster}/${attribute}`;
}

function cancelled({ isSent }: { readonly isSent: boolean }): AtmoError {
  return new AtmoError('CANCELLED', 'The command was cancelled', { isSent });
}

function notAnswered({ isRead }: { readonly isRead: boolean }): AtmoError {
  return isRead
    ? new AtmoError('DEVICE_UNREACHABLE', 'The lamp did not answer; check its power')
    : new AtmoError('OUTCOME_UNKNOWN', 'The command was sent but not acknowledged; read the state before trying again');
}

function subscribed<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Simulated lamps are there from the begin, and nobody administers them. */
const NO_ADMINISTRATION = new Proxy({} as DeviceAdministration, {
  get: (_, name) =>
    ['halfCommissioned', 'recognised', 'groups', 'credentials'].includes(String(name))
      ? () => []
      : () => {
          throw new AtmoError('NOT_SUPPORTED', `Simulated devices have no ${String(name)}`);
        },
});

const NO_BRIDGES: BridgeNodes = {
  open: () => Promise.reject(new AtmoError('NOT_SUPPORTED', 'Simulated devices are not bridged')),
  erase: async () => {},
};
