import { Seconds } from '@matter/main';
import type { ClientNode } from '@matter/main/node';
import { InteractionClientMessenger, Invoke, MessageType, Read, Write } from '@matter/main/protocol';
import {
  type AttributeId,
  type ClusterId,
  type ClusterType,
  type EndpointNumber,
  Status,
  TlvWriteRequest,
  TlvWriteResponse,
} from '@matter/main/types';
import type { Clock } from '../../core/clock.ts';
import { ConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import { AtmoError } from '../../core/errors.ts';
import { interactionError, statusError } from './interaction-error.ts';
import type { PeerLink } from './peer-link.ts';

/** One node as interactions need it. */
export interface InteractionTarget {
  readonly node: ClientNode;
  readonly link: PeerLink;
  readonly isSleepy: boolean;
}

export interface AttributeTarget {
  readonly endpoint: number;
  readonly cluster: number;
  readonly attribute: number;
}

/** One call: where it goes, what to name it in errors, and until when it may run. */
export interface InteractionCall extends InteractionTarget {
  readonly what: string;
  readonly signal: AbortSignal;
}

export interface WriteRequest {
  readonly endpoint: number;
  readonly cluster: ClusterType;
  /** camelCase, as in matter.js. */
  readonly attribute: string;
  readonly value: unknown;
  readonly isTimed: boolean;
}

export interface InvokeRequest {
  readonly endpoint: number;
  readonly cluster: ClusterType;
  readonly command: string;
  /** Undefined for a command without fields. */
  readonly fields: unknown;
}

/** Which entries of a list kept per fabric are read (Core §7.13.2). */
export type FabricEntries = 'ours' | 'of-all-fabrics';

// A device that listens all the time answers in milliseconds; the bar for a dead one is 5 s on every call.
const AWAKE_LIMIT_MS = 4_500;
const SLEEPY_LIMIT_MS = 30_000;
// matter.js needs a moment to unwind after an abort; a caller does not wait longer than this for it.
const UNWIND_MS = 200;
// matter.js closes the oldest exchange of a session when it has more than 30, whatever it waits for.
const PARALLEL_CALLS = 10;
const TIMED_WINDOW = Seconds(5);

/** Reads, writes and commands over Matter with a deadline of our own: what a caller gave up never goes out later. */
export class DeviceInteractions {
  readonly #clock: Clock;
  readonly #slots = new WeakMap<ClientNode, ConcurrencyLimiter>();
  readonly #answeredMs = new WeakMap<ClientNode, number>();

  constructor(collaborators: { readonly clock: Clock }) {
    this.#clock = collaborators.clock;
  }

  /** Values in the order of the targets, in one interaction. Lists kept per fabric hold our entries, or those of all fabrics. */
  read(call: InteractionCall, targets: readonly AttributeTarget[], entries: FabricEntries = 'ours'): Promise<readonly unknown[]> {
    return this.#run(call, { isRead: true }, async (signal) => {
      const attributes = targets.map(({ endpoint, cluster, attribute }) => ({
        endpointId: endpoint as EndpointNumber,
        clusterId: cluster as ClusterId,
        attributeId: attribute as AttributeId,
      }));
      const request = { ...Read({ fabricFilter: entries === 'ours', attributes }), includeKnownVersions: true };
      const values = new Map<string, unknown>();
      for await (const chunk of call.node.interaction.read(request, { abort: signal } as never)) {
        for await (const report of chunk) {
          if (report.kind === 'attr-status') throw statusError(plainStatus(report), call.what);
          if (report.kind !== 'attr-value') continue;
          const { endpointId, clusterId, attributeId } = report.path;
          values.set(keyOf({ endpoint: endpointId, cluster: clusterId, attribute: attributeId }), report.value);
        }
      }
      signal.throwIfAborted();
      return targets.map((target) => values.get(keyOf(target)));
    });
  }

  /** Resolves when the device said that the value was taken. */
  write(call: InteractionCall, { endpoint, cluster, attribute, value, isTimed }: WriteRequest): Promise<void> {
    return this.#run(call, { isRead: false }, async (signal) => {
      const entry = Write.Attribute({ endpoint: endpoint as EndpointNumber, cluster, attributes: attribute, value } as never);
      const request = Write({ timed: isTimed }, entry);
      const responses = await sendWrite(call.link, request, signal);
      const refused = responses.find(({ status }) => status.status !== Status.Success);
      if (refused !== undefined) throw statusError(plainStatus(refused.status), call.what);
    });
  }

  /** The response fields, undefined for a command that answers with a status only. */
  invoke(call: InteractionCall, { endpoint, cluster, command, fields }: InvokeRequest): Promise<unknown> {
    return this.#run(call, { isRead: false }, async (signal) => {
      const entry = Invoke.ConcreteCommandRequest({ endpoint: endpoint as EndpointNumber, cluster, command, fields } as never);
      // Batching is off: matter.js sends a batch without the caller's signal, so an abandoned command would go out later.
      const request = { ...Invoke({ commands: [entry] }), batchDuration: false as const };
      for await (const chunk of call.node.interaction.invoke(request, { abort: signal } as never)) {
        for await (const answer of chunk) {
          if (answer.kind === 'cmd-response') return answer.data;
          if (answer.status !== Status.Success) throw statusError(plainStatus(answer), call.what);
          return undefined;
        }
      }
      signal.throwIfAborted();
      throw new AtmoError('OUTCOME_UNKNOWN', `${call.what}: the device acknowledged but sent no answer`);
    });
  }

  async #run<Result>(
    call: InteractionCall,
    kind: { readonly isRead: boolean },
    act: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const limitMs = call.isSleepy ? SLEEPY_LIMIT_MS : AWAKE_LIMIT_MS;
    using silence = new ResponseTimeout({ clock: this.#clock, limitMs, answeredMs: () => this.#answeredMs.get(call.node) });
    const signal = AbortSignal.any([call.signal, silence.signal]);
    let isSent = false;
    let startedMs = this.#clock.monotonic();
    let leave: (() => void) | undefined;
    try {
      leave = await this.#slotsOf(call.node).enter(signal);
      silence.leaveLine();
      startedMs = this.#clock.monotonic();
      await this.#unwound(call.link.connect(signal), signal);
      isSent = true;
      const result = await this.#unwound(act(signal), signal);
      this.#hasAnswered(call.node);
      return result;
    } catch (thrown) {
      const waitedMs = this.#clock.monotonic() - startedMs;
      const error = interactionError(thrown, { what: call.what, isSent, waitedMs, isCancelled: call.signal.aborted, ...kind });
      if (error.code === 'CLUSTER_STATUS') this.#hasAnswered(call.node);
      throw error;
    } finally {
      leave?.();
    }
  }

  #hasAnswered(node: ClientNode): void {
    this.#answeredMs.set(node, this.#clock.monotonic());
  }

  #slotsOf(node: ClientNode): ConcurrencyLimiter {
    const slots = this.#slots.get(node) ?? new ConcurrencyLimiter({ maxRunning: PARALLEL_CALLS });
    this.#slots.set(node, slots);
    return slots;
  }

  /** The work's own end, or the signal's with a little patience. */
  #unwound<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => void this.#clock.after(UNWIND_MS, () => reject(signal.reason));
      if (signal.aborted) giveUp();
      else signal.addEventListener('abort', giveUp, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
    });
  }
}

interface WriteStatus {
  readonly status: { readonly status: number; readonly clusterStatus?: number | undefined };
}

// ClientNode's own write drops the signal on the way (0.17.9: sendWriteCommand ignores its options), so that an abandoned
// write would still be repeated for a quarter of a minute. Here every message carries it.
async function sendWrite(link: PeerLink, request: Write, abort: AbortSignal): Promise<readonly WriteStatus[]> {
  const { peer } = link;
  if (peer === undefined) throw new AtmoError('DEVICE_UNREACHABLE', 'The node has left the fabric');
  const messenger = await InteractionClientMessenger.create(peer.exchangeProvider, { abort, network: 'unlimited' });
  try {
    if (request.timedRequest) await messenger.sendTimedRequest(TIMED_WINDOW, { abort });
    abort.throwIfAborted();
    await messenger.send(MessageType.WriteRequest, TlvWriteRequest.encode(request), { abort });
    const answer = await messenger.nextMessage(MessageType.WriteResponse, { abort });
    abort.throwIfAborted();
    return TlvWriteResponse.decode(answer.payload).writeResponses;
  } finally {
    await messenger.close();
  }
}

function plainStatus(answer: { readonly status: number; readonly clusterStatus?: number | undefined }): {
  status: number;
  clusterStatus?: number;
} {
  return { status: answer.status, ...(answer.clusterStatus !== undefined && { clusterStatus: answer.clusterStatus }) };
}

function keyOf({ endpoint, cluster, attribute }: AttributeTarget): string {
  return `${endpoint}/${cluster}/${attribute}`;
}

interface ResponseTimeoutOptions {
  readonly clock: Clock;
  readonly limitMs: number;
  /** When the node last answered any call, on the monotonic clock; undefined before the first answer. */
  readonly answeredMs: () => number | undefined;
}

/**
 * How long a call waits for a node that is silent: `limitMs`. While the call stands in line behind others, their answers show that
 * the node is there; once it is sent, only its own answer counts.
 */
export class ResponseTimeout implements Disposable {
  readonly #parts: ResponseTimeoutOptions;
  readonly #startedMs: number;
  readonly #controller = new AbortController();
  #isInLine = true;
  #cancel: () => void;

  constructor(parts: ResponseTimeoutOptions) {
    this.#parts = parts;
    this.#startedMs = parts.clock.monotonic();
    this.#cancel = parts.clock.after(parts.limitMs, () => this.#due());
  }

  /** Aborts when the node has been silent for too long. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The call has come to its turn. */
  leaveLine(): void {
    this.#isInLine = false;
    this.#wait();
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }

  #due(): void {
    if (this.#isInLine && this.#leftMs() > 0) this.#wait();
    else this.#controller.abort();
  }

  #wait(): void {
    this.#cancel();
    this.#cancel = this.#parts.clock.after(Math.max(this.#leftMs(), 0), () => this.#due());
  }

  #leftMs(): number {
    const { clock, limitMs, answeredMs } = this.#parts;
    return Math.max(this.#startedMs, answeredMs() ?? this.#startedMs) + limitMs - clock.monotonic();
  }
}
