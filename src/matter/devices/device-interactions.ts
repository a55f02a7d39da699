import { ChannelType, Seconds } from '@matter/main';
import type { ValueModel } from '@matter/main/model';
import type { ClientNode } from '@matter/main/node';
import { InteractionClientMessenger, Invoke, type Message, MessageType, Read, Write } from '@matter/main/protocol';
import {
  type AttributeId,
  type ClusterId,
  type ClusterType,
  type EndpointNumber,
  Status,
  StatusResponseError,
  TlvOfModel,
  TlvWriteRequest,
  TlvWriteResponse,
} from '@matter/main/types';
import type { Clock } from '../../core/clock.ts';
import { ConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import { AtmoError } from '../../core/errors.ts';
import { present } from '../../core/json.ts';
import type { PeerLink } from './peer-link.ts';
import { type CommandAnswer, type DataVersions, keyOfCluster, type ReadAnswer } from './read-back.ts';

interface AttributeTarget {
  readonly endpoint: number;
  readonly cluster: number;
  readonly attribute: number;
}

/** One Matter interaction with a node. */
export interface InteractionCall {
  readonly node: ClientNode;
  readonly link: PeerLink;
  readonly isSleepy: boolean;
  /** Name of the call for error messages. */
  readonly what: string;
  readonly signal: AbortSignal;
}

interface WriteRequest {
  readonly endpoint: number;
  readonly cluster: ClusterType;
  /** Attribute name in camelCase, as in matter.js. */
  readonly attribute: string;
  readonly value: unknown;
  readonly isTimed: boolean;
}

interface InvokeRequest {
  readonly endpoint: number;
  readonly cluster: ClusterType;
  readonly command: string;
  /** Command fields; undefined for a command without fields. */
  readonly fields: unknown;
}

/** Which entries of a fabric-scoped list to read (Core §7.13.2): those of our fabric, or those of all fabrics. */
export type FabricEntries = 'ours' | 'of-all-fabrics';

// Time limit for a device that always listens. Such a device responds in milliseconds. A call to a dead device must fail within 5 s.
const AWAKE_LIMIT_MS = 4_500;
const SLEEPY_LIMIT_MS = 30_000;
// After an abort, the caller waits at most this many milliseconds for matter.js to finish.
const UNWIND_MS = 200;
// Maximum number of parallel calls to a node. Above 30 exchanges, matter.js closes the oldest one, even if it waits for a response.
const PARALLEL_CALLS = 10;
const TIMED_WINDOW = Seconds(5);

/** Reads, writes and invokes over Matter with a time limit. After the limit, no message of the call is sent. */
export class DeviceInteractions {
  readonly #clock: Clock;
  readonly #slots = new WeakMap<ClientNode, ConcurrencyLimiter>();
  readonly #answeredMs = new WeakMap<ClientNode, number>();
  readonly #answers = new WeakMap<ClientNode, CommandAnswer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Reads attributes in one interaction; returns their values in the order of the targets, and the versions of their clusters. */
  read(call: InteractionCall, targets: readonly AttributeTarget[], entries: FabricEntries): Promise<ReadAnswer> {
    return this.#run(call, { isRead: true }, async (signal, onSend) => {
      const attributes = targets.map(({ endpoint, cluster, attribute }) => ({
        endpointId: endpoint as EndpointNumber,
        clusterId: cluster as ClusterId,
        attributeId: attribute as AttributeId,
      }));
      const request = { ...Read({ fabricFilter: entries === 'ours', attributes }), includeKnownVersions: true };
      const values = new Map<string, unknown>();
      const versions: DataVersions = new Map();
      onSend();
      for await (const chunk of call.node.interaction.read(request, { abort: signal } as never)) {
        for await (const report of chunk) {
          if (report.kind === 'attr-status') throw statusError(report, call.what);
          if (report.kind !== 'attr-value') continue;
          const { endpointId, clusterId, attributeId } = report.path;
          values.set(keyOf({ endpoint: endpointId, cluster: clusterId, attribute: attributeId }), report.value);
          versions.set(keyOfCluster({ endpoint: endpointId, cluster: clusterId }), report.version);
        }
      }
      signal.throwIfAborted();
      return { values: targets.map((target) => values.get(keyOf(target))), versions };
    });
  }

  /** Writes an attribute; resolves when the device has accepted the value. */
  write(call: InteractionCall, { endpoint, cluster, attribute, value, isTimed }: WriteRequest): Promise<void> {
    return this.#run(call, { isRead: false }, async (signal, onSend) => {
      const entry = Write.Attribute({ endpoint: endpoint as EndpointNumber, cluster, attributes: attribute, value } as never);
      const request = Write({ timed: isTimed }, entry);
      const responses = await this.#exchange(call, { signal, onSend }, async (messenger) => {
        if (request.timedRequest) await messenger.sendTimedRequest(TIMED_WINDOW, { abort: signal });
        signal.throwIfAborted();
        await messenger.send(MessageType.WriteRequest, TlvWriteRequest.encode(request), { abort: signal });
        const answer = await messenger.nextMessage(MessageType.WriteResponse, { abort: signal });
        signal.throwIfAborted();
        return TlvWriteResponse.decode(answer.payload).writeResponses;
      });
      const refused = responses.find(({ status }) => status.status !== Status.Success);
      if (refused !== undefined) throw statusError(refused.status, call.what);
    });
  }

  /** Invokes a command. Returns the response fields, or undefined if the device answers with a status only. */
  invoke(call: InteractionCall, { endpoint, cluster, command, fields }: InvokeRequest): Promise<unknown> {
    return this.#run(call, { isRead: false }, async (signal, onSend) => {
      const entry = Invoke.ConcreteCommandRequest({ endpoint: endpoint as EndpointNumber, cluster, command, fields } as never);
      const request = Invoke({ commands: [entry] });
      const { schema } = Invoke.commandOf(entry as never);
      // Commands with the quality L may be larger than a datagram (Core §7.7.7).
      const options = schema.effectiveQuality.largeMessage === true ? { requiredTransport: ChannelType.TCP } : {};
      const answer = await this.#exchange(call, { signal, onSend, ...options }, async (messenger) => {
        if (request.timedRequest) await messenger.sendTimedRequest(TIMED_WINDOW, { abort: signal });
        signal.throwIfAborted();
        return await messenger.sendInvokeCommand(request, { abort: signal });
      });
      const [response] = answer?.invokeResponses ?? [];
      if (response?.status !== undefined) {
        if (response.status.status.status !== Status.Success) throw statusError(response.status.status, call.what);
        return undefined;
      }
      if (response?.command === undefined) {
        throw new AtmoError('OUTCOME_UNKNOWN', `${call.what}: the device acknowledged but sent no answer`);
      }
      const { commandFields } = response.command;
      const responseSchema = schema.responseModel && TlvOfModel(schema.responseModel as ValueModel);
      if (responseSchema === undefined) return undefined;
      if (commandFields === undefined) {
        throw new AtmoError('OUTCOME_UNKNOWN', `${call.what}: the answer of the device lacks the fields that say whether it did it`);
      }
      return responseSchema.decodeTlv(commandFields);
    });
  }

  /** Returns the message in which a node last answered a command or a write; undefined if it has not answered any yet. */
  answerOf(node: ClientNode): CommandAnswer | undefined {
    return this.#answers.get(node);
  }

  /**
   * Exchanges messages with a node through a messenger of its own, and notes the last message of the node. The methods of ClientNode do not
   * tell which message that is. Its `write` also ignores the signal (0.17.9: sendWriteCommand ignores its options) and would repeat an
   * abandoned write for 15 s, and its `invoke` collects the session parameters of the peer for each command.
   */
  async #exchange<Answer>(
    { node, link: { peer } }: InteractionCall,
    { signal: abort, onSend, ...options }: { readonly signal: AbortSignal; readonly requiredTransport?: ChannelType; onSend(): void },
    act: (messenger: InteractionClientMessenger) => Promise<Answer>,
  ): Promise<Answer> {
    if (peer === undefined) throw new AtmoError('DEVICE_UNREACHABLE', 'The node has left the fabric');
    const messenger = new CommandMessenger(await peer.exchangeProvider.initiateExchange({ abort, network: 'unlimited', ...options }));
    onSend();
    try {
      const answer = await act(messenger);
      const { session } = messenger.exchange;
      if (messenger.answerId !== undefined) {
        this.#answers.set(node, { session, messageId: messenger.answerId, atMs: this.#clock.monotonic() });
      }
      // Sends the acknowledgement of the answer. Nobody has to wait for it, and matter.js answers a repeated message if it was lost.
      void messenger.close().catch(() => undefined);
      return answer;
    } catch (error) {
      await messenger.close();
      throw error;
    }
  }

  /** Runs a call when the node has a free slot and a session. `act` must call `onSend` before it sends its first message. */
  async #run<Result>(
    call: InteractionCall,
    kind: { readonly isRead: boolean },
    act: (signal: AbortSignal, onSend: () => void) => Promise<Result>,
  ): Promise<Result> {
    const limitMs = call.isSleepy ? SLEEPY_LIMIT_MS : AWAKE_LIMIT_MS;
    using timeout = new ResponseTimeout({ clock: this.#clock, limitMs, answeredMs: () => this.#answeredMs.get(call.node) });
    const signal = AbortSignal.any([call.signal, timeout.signal]);
    let isSent = false;
    let startedMs = this.#clock.monotonic();
    let leave: (() => void) | undefined;
    try {
      leave = await this.#slotsOf(call.node).enter(signal);
      timeout.leaveQueue();
      startedMs = this.#clock.monotonic();
      if (call.link.peer?.hasSession) signal.throwIfAborted();
      else await this.#unwound(call.link.connect(signal), signal);
      const onSend = () => {
        isSent = true;
      };
      const result = await this.#unwound(act(signal, onSend), signal);
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

  /** Settles like `work`. After the signal aborts, waits only UNWIND_MS for `work` and then rejects with the signal's reason. */
  #unwound<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => void this.#clock.after(UNWIND_MS, () => reject(signal.reason));
      if (signal.aborted) giveUp();
      else signal.addEventListener('abort', giveUp, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
    });
  }
}

/** Keeps the number of the last message that the node sent. */
class CommandMessenger extends InteractionClientMessenger {
  answerId: number | undefined;

  override async nextMessage(...expected: Parameters<InteractionClientMessenger['nextMessage']>): Promise<Message> {
    const message = await super.nextMessage(...expected);
    this.answerId = message.packetHeader.messageId;
    return message;
  }
}

function keyOf({ endpoint, cluster, attribute }: AttributeTarget): string {
  return `${endpoint}/${cluster}/${attribute}`;
}

interface ResponseTimeoutOptions {
  readonly clock: Clock;
  readonly limitMs: number;
  /** Returns the time of the node's last answer to any call, on the monotonic clock; undefined before the first answer. */
  readonly answeredMs: () => number | undefined;
}

/** Aborts `signal` if a node does not respond in time. While the call is queued, any response to another call restarts the limit. */
export class ResponseTimeout implements Disposable {
  readonly #parts: ResponseTimeoutOptions;
  readonly #startedMs: number;
  readonly #controller = new AbortController();
  #isQueued = true;
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

  /** Must be called when the call leaves the queue. From then on, responses to other calls do not extend the limit. */
  leaveQueue(): void {
    this.#isQueued = false;
    this.#wait();
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }

  #due(): void {
    if (this.#isQueued && this.#leftMs() > 0) this.#wait();
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

/** A failed interaction, for `interactionError`. */
export interface InteractionFailure {
  /** Name of the call, such as `OnOff.Toggle on kitchen-light/1`. */
  readonly what: string;
  /** True if a request may have been sent to the device. */
  readonly isSent: boolean;
  /** True for a read. If its response is lost, the error is DEVICE_UNREACHABLE instead of OUTCOME_UNKNOWN: a read changes nothing. */
  readonly isRead: boolean;
  readonly isCancelled: boolean;
  readonly waitedMs: number;
}

/** Returns the hub's error for an error that matter.js threw in an interaction. */
export function interactionError(thrown: unknown, failure: InteractionFailure): AtmoError {
  if (thrown instanceof AtmoError) return thrown;
  if (failure.isCancelled) return cancelled(failure);
  if (thrown instanceof StatusResponseError) {
    return statusError({ status: thrown.code, clusterStatus: thrown.clusterCode }, failure.what);
  }
  const seconds = `${(failure.waitedMs / 1_000).toFixed(1).replace(/\.0$/, '')} s`;
  if (failure.isSent && !failure.isRead) {
    const message = `${failure.what} was sent but not acknowledged within ${seconds}; read the state before trying again`;
    return new AtmoError('OUTCOME_UNKNOWN', message, {}, { cause: thrown });
  }
  const message = `${failure.what}: the device did not answer within ${seconds}; check its power and network`;
  return new AtmoError('DEVICE_UNREACHABLE', message, {}, { cause: thrown });
}

/** Returns the CLUSTER_STATUS error for a status that the device returned (Core §8.10). */
function statusError({ status, clusterStatus }: { status: number; clusterStatus?: number | undefined }, what: string): AtmoError {
  const name = Status[status] ?? `0x${status.toString(16)}`;
  const clusterPart = clusterStatus === undefined ? '' : ` (cluster status ${clusterStatus})`;
  const message = `${what}: the device answered ${name}${clusterPart}${hint(status, what)}`;
  return new AtmoError('CLUSTER_STATUS', message, present({ status, clusterStatus, name }));
}

function cancelled(failure: InteractionFailure): AtmoError {
  const sent = failure.isSent && !failure.isRead ? '; it was already sent and may have taken effect' : '; nothing was sent';
  return new AtmoError('CANCELLED', `${failure.what} was cancelled${sent}`, { isSent: failure.isSent });
}

/** Commands for which a lock may require its PIN (Application Clusters §5.2.10). */
const WANTS_PIN = /^DoorLock\.(Lock|Unlock|Unbolt)/;

function hint(status: number, what: string): string {
  switch (status) {
    case Status.Failure:
      return WANTS_PIN.test(what) ? '; a lock that wants its PIN answers so without the right one: give it as pin' : '';
    case Status.ConstraintError:
      return ': a value is outside what the device allows';
    case Status.UnsupportedAccess:
      return ': this hub has no right to do that on the device';
    case Status.InvalidInState:
      return ': not possible in the state the device is in now';
    default:
      return '';
  }
}
