import '../matter-platform.ts';
import type { InteractionServer } from '@matter/main/node';
import { InputChunk, type Message, type MessageExchange, type ProtocolHandler } from '@matter/main/protocol';
import { TlvDataReport } from '@matter/main/types';
import { type Clock, orAborted } from '../../core/clock.ts';
import type { PeerLink } from './peer-link.ts';

/** The message in which a node answered a command or a write. */
export interface CommandAnswer {
  /** The session of matter.js. Its counter numbers the messages of the node in the order in which the node sent them (Core §4.6). */
  readonly session: unknown;
  readonly messageId: number;
  /** Time of its arrival on the monotonic clock. */
  readonly atMs: number;
}

/** Data versions of clusters, by `endpoint/cluster`. A cluster counts up with each change, and wraps at 32 bits (Core §7.10.3). */
export type DataVersions = Map<string, number>;

/** What a node answers to a read: values in the order of the targets. */
export interface ReadAnswer {
  readonly values: readonly unknown[];
  readonly versions: DataVersions;
}

/** How often a node is asked again whose answer was older than its reports. */
const MAX_READS_AGAIN = 3;

/** The longest time that a report is waited for. */
const LONGEST_WAIT_MS = 150;
/** What a read costs the hub in processor time, beside the time until the device has answered it. */
const READ_COST_MS = 2;
/** A report is waited for up to this many times as long as it takes otherwise, and a moment longer for what else the hub does. */
const PATIENCE = 2;
const MOMENT_MS = 10;
/** How many times of a node are kept. One that was long by chance changes nothing, and three that are longer change the way. */
const KEPT_TIMES = 5;
const ENOUGH_TIMES = 3;
/** The reports of the first commands are timed, and later one in many, since that takes work and their time changes seldom. */
const TIMED_AT_FIRST = 6;
const TIMED_LATER = 16;

/** Learns how soon a node reports what a command has changed, and how soon it answers a read. */
export class ReportTiming {
  readonly #reports: number[] = [];
  readonly #reads: number[] = [];
  #commands = 0;

  /** How long to wait for the report of a change; undefined if a read is sooner, and as long as too little is known. */
  get waitMs(): number | undefined {
    if (this.#reports.length < ENOUGH_TIMES || this.#reads.length < ENOUGH_TIMES) return undefined;
    const reportMs = median(this.#reports);
    return reportMs > median(this.#reads) + READ_COST_MS ? undefined : Math.min(reportMs * PATIENCE + MOMENT_MS, LONGEST_WAIT_MS);
  }

  /** Counts a command, and returns whether its report is to be timed although nobody waits for it. */
  countCommand(): boolean {
    this.#commands += 1;
    return this.#commands <= TIMED_AT_FIRST || this.#commands % TIMED_LATER === 0;
  }

  noteRead(tookMs: number): void {
    keep(this.#reads, tookMs);
  }

  /** `tookMs` is the time from the answer to the command until the report. */
  noteReport(tookMs: number): void {
    keep(this.#reports, tookMs);
  }

  noteMiss(): void {
    keep(this.#reports, LONGEST_WAIT_MS);
  }
}

function keep(times: number[], tookMs: number): void {
  times.push(tookMs);
  if (times.length > KEPT_TIMES) times.shift();
}

function median(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[times.length >> 1] ?? Number.POSITIVE_INFINITY;
}

/** An attribute that a command is to bring to a value. */
export interface AwaitedAttribute {
  readonly endpoint: number;
  readonly cluster: number;
  readonly attribute: number;
  /** Id of the matter.js behavior and name of its property. */
  readonly behavior: string;
  readonly property: string;
  /** True if the known value was the expected one before the command. Then no report of it is to be expected. */
  readonly isKnown: boolean;
  /** Returns whether a value, as matter.js has it, is the expected one. */
  isReached(value: unknown): boolean;
}

interface Report {
  readonly session: unknown;
  readonly messageId: number;
  readonly atMs: number;
  /** Place in the order of reports and of changes of the cache. */
  readonly order: number;
}

/** The values that a node reports for one command. */
export class AwaitedReport implements Disposable {
  readonly link: PeerLink;
  readonly #clock: Clock;
  readonly #attributes: readonly AwaitedAttribute[];
  readonly #onEnd: () => void;
  readonly #reported = new Map<AwaitedAttribute, { readonly report: Report; readonly value: unknown }>();
  readonly #stored = new Map<AwaitedAttribute, number>();
  readonly #timing: ReportTiming;
  readonly #isTimed: boolean;
  #answer: CommandAnswer | undefined;
  #isPartial = false;
  #settle: ((isReported: boolean) => void) | undefined;
  #cancelTiming: (() => void) | undefined;
  #isMeasured = false;

  constructor(
    parts: { readonly clock: Clock; readonly link: PeerLink; readonly timing: ReportTiming; readonly onEnd: (one: AwaitedReport) => void },
    attributes: readonly AwaitedAttribute[],
  ) {
    this.link = parts.link;
    this.#clock = parts.clock;
    this.#timing = parts.timing;
    this.#onEnd = () => parts.onEnd(this);
    this.#attributes = attributes;
    this.#isTimed = parts.timing.countCommand();
  }

  /**
   * Waits for the reports that the node sent after its answer to the command. Returns the values of all attributes in their order, undefined
   * for those that were known. Returns undefined if they do not come in the time that the node takes otherwise, or are not the expected ones.
   */
  async values(answer: CommandAnswer, signal: AbortSignal): Promise<readonly unknown[] | undefined> {
    this.#answer = answer;
    const { waitMs } = this.#timing;
    const isReported = waitMs !== undefined && (await this.#isReported(answer, { waitMs, signal }));
    this.#measure(answer);
    return isReported ? this.#attributes.map((one) => this.#reported.get(one)?.value) : undefined;
  }

  /** Takes in the values of a report. Values that were stored before `report.order` are those of older messages. */
  take(report: Report, { values, isPartial }: ReportedValues): void {
    this.#isPartial ||= isPartial;
    for (const one of this.#attributes) {
      const key = keyOf(one);
      if (values.has(key)) this.#reported.set(one, { report, value: values.get(key) });
    }
    this.#changed();
  }

  /** Called when matter.js has stored values of a cluster; `properties` is undefined if it does not say which. */
  noteStored(
    at: { readonly endpoint: number; readonly behavior: string; readonly properties: readonly string[] | undefined },
    order: number,
  ) {
    for (const one of this.#attributes) {
      if (one.endpoint !== at.endpoint || one.behavior !== at.behavior) continue;
      if (at.properties?.includes(one.property) !== false) this.#stored.set(one, order);
    }
    this.#changed();
  }

  /** Ends the wait, since the node is no longer here. */
  end(): void {
    this.#settle?.(false);
    this.#endTiming();
  }

  [Symbol.dispose](): void {
    // The report of a command that was read back may still come, and then tells how long reports take.
    if (this.#cancelTiming === undefined) this.#onEnd();
  }

  #isReported(answer: CommandAnswer, { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal }): Promise<boolean> {
    const state = this.#state(answer);
    if (state !== 'pending') return Promise.resolve(state === 'reported');
    return new Promise((resolve) => {
      const end = (isReported: boolean) => {
        this.#settle = undefined;
        cancel();
        signal.removeEventListener('abort', leave);
        resolve(isReported);
      };
      const leave = () => end(false);
      const cancel = this.#clock.after(Math.max(0, answer.atMs + waitMs - this.#clock.monotonic()), () => {
        this.#timing.noteMiss();
        end(false);
      });
      signal.addEventListener('abort', leave, { once: true });
      this.#settle = end;
    });
  }

  #changed(): void {
    const answer = this.#answer;
    if (answer === undefined) return;
    const state = this.#settle && this.#state(answer);
    if (state !== undefined && state !== 'pending') this.#settle?.(state === 'reported');
    if (this.#cancelTiming !== undefined) this.#measure(answer);
  }

  /**
   * `reported`: the node has reported all that was not known before. `other`: it has to be asked, since it has reported something else, or more
   * than its first message shows.
   */
  #state(answer: CommandAnswer): 'reported' | 'other' | 'pending' {
    if (this.#isPartial) return 'other';
    const states = this.#attributes.map((one) => {
      const reported = this.#reported.get(one);
      if (reported === undefined) return one.isKnown ? 'reported' : 'pending';
      if (!isAfter(reported.report, answer) || !one.isReached(reported.value)) return 'other';
      return (this.#stored.get(one) ?? 0) > reported.report.order || one.isKnown ? 'reported' : 'pending';
    });
    if (states.includes('other') || this.#attributes.every(({ isKnown }) => isKnown)) return 'other';
    return states.includes('pending') ? 'pending' : 'reported';
  }

  /** Notes how long the report took after the answer. If it has not come, waits for it if it is to be timed. */
  #measure(answer: CommandAnswer): void {
    if (this.#isMeasured || this.#attributes.every(({ isKnown }) => isKnown)) return;
    const own = this.#attributes.flatMap((one) => (one.isKnown ? [] : (this.#reported.get(one)?.report ?? [])));
    const [first] = own.filter((report) => isAfter(report, answer));
    if (first !== undefined) {
      this.#isMeasured = true;
      this.#timing.noteReport(Math.max(0, first.atMs - answer.atMs));
      if (this.#cancelTiming !== undefined) this.#endTiming();
    } else if (this.#isTimed && this.#cancelTiming === undefined) {
      this.#cancelTiming = this.#clock.after(LONGEST_WAIT_MS, () => {
        this.#timing.noteMiss();
        this.#endTiming();
      });
    }
  }

  #endTiming(): void {
    this.#cancelTiming?.();
    this.#onEnd();
  }
}

/** Notes which versions of its clusters a node reports while it is read. */
class ReportsDuringRead {
  readonly link: PeerLink;
  readonly #versions: DataVersions = new Map();
  #taken: Promise<unknown> = Promise.resolve();
  #isPartial = false;

  constructor(link: PeerLink) {
    this.link = link;
  }

  take(reported: Promise<ReportedValues>): void {
    const noted = reported.then(
      ({ versions, isPartial }) => {
        this.#isPartial ||= isPartial;
        for (const [cluster, version] of versions) this.#versions.set(cluster, version);
      },
      () => undefined,
    );
    this.#taken = Promise.all([this.#taken, noted]);
  }

  /** Returns whether the node may have reported a later version of a cluster than it answers. */
  async mayBeNewerThan({ versions }: ReadAnswer): Promise<boolean> {
    await this.#taken;
    return this.#isPartial || [...versions].some(([cluster, version]) => isLater(this.#versions.get(cluster) ?? 0, version));
  }
}

/** Brings the reports of nodes to those who wait for them after a command, and to those who read. */
export class CommandReports {
  readonly #clock: Clock;
  readonly #awaited = new Set<AwaitedReport>();
  readonly #reads = new Set<ReportsDuringRead>();
  readonly #timings = new WeakMap<PeerLink, ReportTiming>();
  #order = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  timingOf(link: PeerLink): ReportTiming {
    const timing = this.#timings.get(link) ?? new ReportTiming();
    this.#timings.set(link, timing);
    return timing;
  }

  /** Begins to note what a node reports. Must be called before the command is sent. */
  awaitReport(link: PeerLink, attributes: readonly AwaitedAttribute[]): AwaitedReport {
    const onEnd = (one: AwaitedReport) => void this.#awaited.delete(one);
    const awaited = new AwaitedReport({ clock: this.#clock, link, timing: this.timingOf(link), onEnd }, attributes);
    this.#awaited.add(awaited);
    return awaited;
  }

  /**
   * Reads a node, and again if its answer is older than what it has reported meanwhile, as after an answer that was lost and sent again.
   * matter.js keeps what comes last, so a value that had changed would be wrong until its next change. That is put right also if the caller leaves.
   */
  async latest(link: PeerLink, read: (signal: AbortSignal) => Promise<ReadAnswer>, signal: AbortSignal): Promise<ReadAnswer> {
    const { answer, isOld } = await this.#readOnce(link, () => read(signal));
    return isOld ? orAborted(this.#readAgain(link, read), signal) : answer;
  }

  async #readAgain(link: PeerLink, read: (signal: AbortSignal) => Promise<ReadAnswer>): Promise<ReadAnswer> {
    const { signal } = new AbortController();
    for (let again = 1; ; again++) {
      const { answer, isOld } = await this.#readOnce(link, () => read(signal));
      if (!isOld || again === MAX_READS_AGAIN) return answer;
    }
  }

  async #readOnce(link: PeerLink, read: () => Promise<ReadAnswer>): Promise<{ readonly answer: ReadAnswer; readonly isOld: boolean }> {
    const during = new ReportsDuringRead(link);
    this.#reads.add(during);
    try {
      const answer = await read();
      return { answer, isOld: await during.mayBeNewerThan(answer) };
    } finally {
      this.#reads.delete(during);
    }
  }

  /** Ends what is awaited of a node that is removed. */
  end(link: PeerLink): void {
    for (const awaited of [...this.#awaited]) if (awaited.link === link) awaited.end();
  }

  /** Listens to the reports that arrive at a node; returns the function that ends it. */
  listen(server: InteractionServer): () => void {
    const { clientHandler } = server;
    if (clientHandler === undefined) return () => {};
    const listening: ProtocolHandler = {
      id: clientHandler.id,
      requiresSecureSession: clientHandler.requiresSecureSession,
      onNewExchange: (exchange, message) => {
        try {
          this.#onReport(exchange, message);
        } catch {
          // Whatever is wrong here, the report has to reach matter.js: without it, each command is read back.
        }
        return clientHandler.onNewExchange(exchange, message);
      },
      close: () => clientHandler.close(),
    };
    server.clientHandler = listening;
    return () => {
      server.clientHandler = clientHandler;
    };
  }

  /** Must be called when matter.js has stored values that a node sent. */
  noteStored(
    link: PeerLink,
    at: { readonly endpoint: number; readonly behavior: string; readonly properties: readonly string[] | undefined },
  ) {
    const order = ++this.#order;
    for (const awaited of this.#awaited) if (awaited.link === link) awaited.noteStored(at, order);
  }

  #onReport({ session }: MessageExchange, message: Message): void {
    const waiting = [...this.#awaited].filter(({ link }) => hasSession(link, session));
    const reads = [...this.#reads].filter(({ link }) => hasSession(link, session));
    if (waiting.length === 0 && reads.length === 0) return;
    const report = { session, messageId: message.packetHeader.messageId, atMs: this.#clock.monotonic(), order: ++this.#order };
    const decoded = valuesOf(message);
    for (const read of reads) read.take(decoded);
    decoded.then(
      (reported) => {
        for (const awaited of waiting) awaited.take(report, reported);
      },
      // matter.js logs a report that cannot be read, and answers it.
      () => undefined,
    );
  }
}

/** What the first message of a report says. */
interface ReportedValues {
  readonly values: ReadonlyMap<string, unknown>;
  readonly versions: DataVersions;
  /** True if further messages of the report follow. They belong to the same exchange, and are not seen here. */
  readonly isPartial: boolean;
}

/** Returns the attributes in the first message of a report. A list that goes on in the next message is left out. */
async function valuesOf({ payload }: Message): Promise<ReportedValues> {
  const values = new Map<string, unknown>();
  const versions: DataVersions = new Map();
  const report = TlvDataReport.decode(payload);
  const isPartial = report.moreChunkedMessages === true;
  for await (const entry of InputChunk(report, [])) {
    if (entry.kind !== 'attr-value') continue;
    const { endpointId, clusterId, attributeId } = entry.path;
    values.set(keyOf({ endpoint: endpointId, cluster: clusterId, attribute: attributeId }), entry.value);
    versions.set(keyOfCluster({ endpoint: endpointId, cluster: clusterId }), entry.version);
  }
  return { values, versions, isPartial };
}

/** Returns whether a session is one of a node. A node that is being destroyed has none. */
function hasSession(link: PeerLink, session: unknown): boolean {
  try {
    return [...(link.peer?.sessions ?? [])].some((own) => own === session);
  } catch {
    return false;
  }
}

function isAfter(report: Report, answer: CommandAnswer): boolean {
  return report.session === answer.session && report.messageId > answer.messageId;
}

/** Returns whether a data version is later than another one. A message without one has 0 in matter.js, which says nothing. */
function isLater(version: number, other: number): boolean {
  return version !== 0 && other !== 0 && ((version - other) | 0) > 0;
}

/** The key of a cluster among data versions. */
export function keyOfCluster({ endpoint, cluster }: Pick<AwaitedAttribute, 'endpoint' | 'cluster'>): string {
  return `${endpoint}/${cluster}`;
}

function keyOf({ endpoint, cluster, attribute }: Pick<AwaitedAttribute, 'endpoint' | 'cluster' | 'attribute'>): string {
  return `${endpoint}/${cluster}/${attribute}`;
}
