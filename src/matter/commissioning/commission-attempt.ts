import '../matter-platform.ts';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { ChannelType, causedBy, Millis } from '@matter/main';
import { GeneralCommissioning } from '@matter/main/clusters/general-commissioning';
import type { ClientNode, Peers } from '@matter/main/node';
import { type AttestationFinding, CommissioningError, PeerSet, Subscribe } from '@matter/main/protocol';
import { NodeId } from '@matter/main/types';
import type { Clock } from '../../core/clock.ts';
import type { AttestationPolicy, CommissionProgress, CommissionRequest, CommissionStep } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import type { MatterNode } from '../matter-node.ts';
import { type AttestationVerdict, commissioningFailed, type FailureReason, judgeAttestation, reasonOf } from './commissioning-failure.ts';
import { type CommissionStage, observedFlow } from './commissioning-flow.ts';
import type { CommissioningEntry, CommissioningStore } from './commissioning-recovery.ts';
import type { CredentialSetStore } from './network-credentials.ts';
import type { SetupPayload } from './setup-code.ts';

interface Collaborators {
  readonly matter: MatterNode;
  readonly commissionings: CommissioningStore;
  readonly credentials: CredentialSetStore;
  readonly clock: Clock;
}

interface AttemptOptions {
  readonly entry: CommissioningEntry;
  readonly payload: SetupPayload;
  readonly request: CommissionRequest;
  readonly discoveryTimeoutMs?: number;
  readonly attestation?: AttestationPolicy;
}

interface RunOptions {
  readonly signal: AbortSignal;
  onProgress(progress: CommissionProgress): void;
}

type NodeOptions = Exclude<Parameters<ClientNode['commission']>[0], string | number>;

const DISCOVERY_TIMEOUT_MS = 30_000;
/** Maximum time until a device appears on its network. It is long because Thread devices are slow. */
const JOIN_TIMEOUT_MS = 120_000;
/** Country code that means no particular country (user-assigned in ISO 3166). It sets no radio regulations. */
const COUNTRY_CODE = 'XX';
const PAIRING_TIMEOUT_MS = 10_000;
const REFUSED_WITHIN_MS = 1_500;
/** After a failed pairing, the hub waits this many milliseconds for another device with the same discriminator. */
const OTHER_DEVICE_WAIT_MS = 2_000;
const STILL_SEARCHING_MS = 5_000;

/** One attempt to commission the device of one setup payload. */
export class CommissionAttempt {
  readonly #collaborators: Collaborators;
  readonly #options: AttemptOptions;
  readonly #run: RunOptions;
  /** Aborts if the device does not join its network in time. */
  readonly #joinTimeout = new AbortController();
  readonly #signal: AbortSignal;
  #step: CommissionStep = 'discover';
  #stage: CommissionStage = 'intent';
  #isPaired = false;
  #isRolledBack = false;
  #verdict: AttestationVerdict | undefined;
  #knownAddress: { readonly type: 'udp'; readonly ip: string; readonly port: number } | undefined;
  #cancelJoinTimer: () => void = () => {};

  constructor(collaborators: Collaborators, options: AttemptOptions, run: RunOptions) {
    this.#collaborators = collaborators;
    this.#options = options;
    this.#run = run;
    this.#signal = AbortSignal.any([run.signal, this.#joinTimeout.signal]);
  }

  /** True if the attempt has failed and the device has removed our fabric's credentials again. */
  get isRolledBack(): boolean {
    return this.#isRolledBack;
  }

  /** Commissions the device and reads its structure. Resolves with the attestation findings that were accepted. */
  async run(): Promise<readonly string[]> {
    try {
      const { address } = this.#options.request;
      await (address === undefined ? this.#search() : this.#tryKnownAddress(address));
      return this.#verdict?.findings ?? [];
    } finally {
      this.#cancelJoinTimer();
    }
  }

  async #search(): Promise<void> {
    const { matter, clock } = this.#collaborators;
    const { payload, request, discoveryTimeoutMs = DISCOVERY_TIMEOUT_MS } = this.#options;
    const usesBle = request.wifi !== undefined || request.thread !== undefined;
    using search = new DeviceSearch(matter.peers, payload, usesBle ? 'ble' : 'ip');
    const endMs = clock.monotonic() + discoveryTimeoutMs;
    let refusal: AtmoError | undefined;
    for (;;) {
      const leftMs = endMs - clock.monotonic();
      if (this.#signal.aborted) throw this.#cancelled();
      if (leftMs <= 0) throw refusal ?? commissioningFailed(search.sawClosedWindow ? 'window_closed' : 'not_found', 'discover');
      this.#report('discover', `searching ${usesBle ? 'over Bluetooth' : 'on the network'}, ${Math.ceil(leftMs / 1000)} s left`);
      const waitMs = Math.min(leftMs, refusal === undefined ? STILL_SEARCHING_MS : OTHER_DEVICE_WAIT_MS);
      const node = await search.next(clock, waitMs, this.#signal);
      if (node === undefined && refusal !== undefined) throw refusal;
      refusal = node === undefined ? refusal : await this.#tryCandidate(node);
      if (node !== undefined && refusal === undefined) return;
    }
  }

  /** Commissions a matching device. If the pairing fails, returns the error, because another device may match. Throws any other error. */
  async #tryCandidate(node: ClientNode): Promise<AtmoError | undefined> {
    try {
      await this.#try(node);
      return undefined;
    } catch (error) {
      if (this.#isPaired || !(error instanceof AtmoError) || error.code !== 'COMMISSIONING_FAILED') throw error;
      return error;
    }
  }

  async #tryKnownAddress(address: { readonly host: string; readonly port: number }): Promise<void> {
    const { entry } = this.#options;
    this.#knownAddress = { type: 'udp', ip: await resolveHost(address.host), port: address.port };
    const descriptor = { deviceIdentifier: `address-${entry.id}`, addresses: [this.#knownAddress] };
    const node = await this.#collaborators.matter.peers.forDescriptor(descriptor);
    await node.construction.ready;
    try {
      await this.#try(node);
    } finally {
      if (!node.lifecycle.isCommissioned) await node.delete();
    }
  }

  /** Tries the addresses one at a time. matter.js itself would wait 15 s before the second address, even if the first was refused. */
  async #try(node: ClientNode): Promise<void> {
    const addresses = (node.state.commissioning.addresses ?? []).map((address) => ({ ...address }));
    let failure = commissioningFailed('unreachable', 'connect');
    for (const address of addresses) {
      await node.set({ commissioning: { addresses: [address] } });
      const result = await this.#pair(node);
      if ('peripheralAddress' in address) await this.#collaborators.matter.ble?.centralInterface.release(address.peripheralAddress);
      if (result === undefined) return;
      failure = result;
      if (this.#isPaired || failure.details.reason !== 'unreachable') break;
    }
    throw failure;
  }

  /** Commissions the device at its current address; returns the error if that fails. */
  async #pair(node: ClientNode): Promise<AtmoError | undefined> {
    const { matter, clock } = this.#collaborators;
    this.#report('connect', 'pairing');
    const startedMs = clock.monotonic();
    try {
      await matter.peers.runCommissioning(node, () => node.commission(this.#nodeOptions()));
      return undefined;
    } catch (error) {
      // The device is on our fabric. Only the first read of its structure has failed; the subscription reads the structure again.
      if (node.lifecycle.isCommissioned) return undefined;
      return this.#failure(error, clock.monotonic() - startedMs);
    }
  }

  #nodeOptions(): NodeOptions {
    const { matter } = this.#collaborators;
    const { entry, payload } = this.#options;
    return {
      passcode: payload.passcode,
      nodeId: NodeId(BigInt(entry.nodeId)),
      fabric: matter.fabric,
      commissioningFlowImpl: observedFlow({
        signal: this.#signal,
        onStep: (step, note) => this.#enter(step, note),
        onStage: (stage) => this.#reach(stage),
      }),
      abort: this.#signal,
      timeout: Millis(PAIRING_TIMEOUT_MS),
      defaultSubscription: Subscribe({
        attributes: [{}],
        events: [{ isUrgent: true }],
        fabricFilter: true,
        keepSubscriptions: false,
        ...matter.subscription,
      }),
      onAttestationFailure: (findings) => this.#judge(findings),
      regulatoryLocation: GeneralCommissioning.RegulatoryLocationType.IndoorOutdoor,
      regulatoryCountryCode: COUNTRY_CODE,
      ...this.#networkOptions(),
    };
  }

  #networkOptions(): Pick<NodeOptions, 'wifiNetwork' | 'threadNetwork'> {
    const { credentials } = this.#collaborators;
    const { wifi, thread } = this.#options.request;
    const wifiSet = wifi === undefined ? undefined : credentials.credentialsFor('wifi', wifi);
    const threadSet = thread === undefined ? undefined : credentials.credentialsFor('thread', thread);
    return {
      ...(wifiSet && { wifiNetwork: { wifiSsid: wifiSet.ssid, wifiCredentials: wifiSet.password } }),
      ...(threadSet && { threadNetwork: { operationalDataset: threadSet.datasetHex } }),
    };
  }

  #judge(findings: readonly AttestationFinding[]): boolean {
    const { attestation = this.#options.attestation, acceptAttestation } = this.#options.request;
    this.#verdict = judgeAttestation(attestation ?? 'ask', findings, acceptAttestation === true ? 'accepted' : 'not-accepted');
    return this.#verdict.isAccepted;
  }

  #enter(step: CommissionStep, note: string): void {
    this.#isPaired = true;
    if (step === 'join' && this.#step !== 'join') this.#enterJoin();
    this.#report(step, note);
  }

  #enterJoin(): void {
    const { matter, clock } = this.#collaborators;
    const { entry } = this.#options;
    this.#cancelJoinTimer = clock.after(JOIN_TIMEOUT_MS, () =>
      this.#joinTimeout.abort(new AtmoError('TIMEOUT', 'The device did not join in time')),
    );
    if (this.#knownAddress === undefined) return;
    // If mDNS has found no address of the device on our fabric, matter.js tries the address from the request.
    const peer = matter.node.env.get(PeerSet).for(matter.fabric.addressOf(NodeId(BigInt(entry.nodeId))));
    peer.descriptor.operationalAddress ??= this.#knownAddress;
  }

  #reach(stage: CommissionStage): void {
    this.#collaborators.commissionings.reach(this.#options.entry.id, stage);
    this.#stage = stage;
  }

  #report(step: CommissionStep, note: string): void {
    this.#step = step;
    this.#run.onProgress({ step, note });
  }

  #failure(error: unknown, tookMs: number): AtmoError {
    // After a CommissioningError, matter.js ends the fail-safe to make the device remove our fabric. In the join step, this can fail.
    this.#isRolledBack = this.#stage === 'credentials' && this.#step !== 'join' && causedBy(error, CommissioningError);
    if (this.#run.signal.aborted) return this.#cancelled();
    if (this.#verdict?.isAccepted === false) {
      return commissioningFailed('attestation_refused', 'attest', { cause: error, findings: this.#verdict.findings });
    }
    return storageFaultOf(error) ?? commissioningFailed(this.#reason(error, tookMs), this.#step, { cause: error });
  }

  #reason(error: unknown, tookMs: number): FailureReason {
    if (this.#joinTimeout.signal.aborted) return 'not_joined';
    if (this.#isPaired) return reasonOf(error, 'flow');
    const reason = reasonOf(error, 'pairing');
    // matter.js throws the same error for a refusal and for silence. Silence takes longer, due to the retransmissions (Core §4.12.2.1).
    return reason === 'unreachable' && tookMs < REFUSED_WITHIN_MS ? 'window_closed' : reason;
  }

  #cancelled(): AtmoError {
    return new AtmoError('CANCELLED', `Commissioning was stopped at "${this.#step}"`, { step: this.#step });
  }
}

/** Returns the STORAGE_FAILED error that stopped the commissioning flow, or undefined if it stopped for another reason. */
function storageFaultOf(error: unknown): AtmoError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof AtmoError && cause.code === 'STORAGE_FAILED') return cause;
  return undefined;
}

async function resolveHost(host: string): Promise<string> {
  if (isIP(host) !== 0) return host;
  try {
    return (await lookup(host)).address;
  } catch (cause) {
    throw new AtmoError(
      'VALIDATION_ERROR',
      `The address ${JSON.stringify(host)} is neither an IP address nor a name that can be resolved`,
      { pointer: '/address/host' },
      { cause },
    );
  }
}

/** Searches for devices that match a setup payload, on the IP network or over BLE. */
class DeviceSearch implements Disposable {
  readonly #discovery: ReturnType<Peers['discover']>;
  readonly #found: ClientNode[] = [];
  readonly #seen = new Set<ClientNode>();
  #wake: () => void = () => {};
  #sawClosedWindow = false;

  constructor(peers: Peers, payload: SetupPayload, transport: 'ip' | 'ble') {
    const channel = transport === 'ble' ? ChannelType.BLE : ChannelType.UDP;
    const identifier =
      payload.discriminator === undefined
        ? { shortDiscriminator: payload.shortDiscriminator ?? 0 }
        : { longDiscriminator: payload.discriminator };
    this.#discovery = peers.discover({ ...identifier, scannerFilter: (scanner) => scanner.type === channel });
    this.#discovery.discovered.on((node) => this.#take(node));
    // The search ends when `stop` is called. An error of the scanner is ignored: it means only that no device was found.
    this.#discovery.then(undefined, () => {});
  }

  /** Whether a matching device has advertised that it is not in commissioning mode (Core §4.3.1, CM=0). */
  get sawClosedWindow(): boolean {
    return this.#sawClosedWindow;
  }

  /** Returns the next device found, or undefined if none appears within `waitMs` or the signal aborts. */
  async next(clock: Clock, waitMs: number, signal: AbortSignal): Promise<ClientNode | undefined> {
    if (this.#found.length === 0 && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const cancel = clock.after(waitMs, resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
      await promise;
      cancel();
    }
    return signal.aborted ? undefined : this.#found.shift();
  }

  [Symbol.dispose](): void {
    this.#discovery.stop();
  }

  #take(node: ClientNode): void {
    if (this.#seen.has(node)) return;
    if (node.state.commissioning.commissioningMode === 0) {
      this.#sawClosedWindow = true;
      return;
    }
    this.#seen.add(node);
    this.#found.push(node);
    this.#wake();
  }
}
