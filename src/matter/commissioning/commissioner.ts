import type { HubContext } from '../../core/context.ts';
import '../matter-platform.ts';
import { Crypto } from '@matter/main';
import { NodeId } from '@matter/main/types';
import type {
  AttestationPolicy,
  CommissionRequest,
  CommissionResult,
  DeviceAdministration,
  HalfCommissioned,
} from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import { present } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { MatterNode } from '../matter-node.ts';
import { CommissionAttempt } from './commission-attempt.ts';
import { type CommissioningEntry, CommissioningRecovery, CommissioningStore, type DeviceRecorder } from './commissioning-recovery.ts';
import type { CredentialSetStore } from './network-credentials.ts';
import { parseSetupCode, type SetupPayload, setupPayload } from './setup-code.ts';

/** Options of the device search and of device attestation. */
export interface CommissionerOptions {
  /** Maximum time to search for a device in milliseconds; default: 30 s. */
  readonly discoveryTimeoutMs?: number;
  /** Attestation policy for a request that has none of its own; default: `ask`. */
  readonly attestation?: AttestationPolicy;
}

interface Collaborators extends Pick<HubContext, 'clock' | 'logger' | 'store'> {
  readonly matter: MatterNode;
  readonly credentials: CredentialSetStore;
  readonly recorder: DeviceRecorder;
  /** Passcodes with which the bridges of this hub itself are open. */
  readonly bridgePasscodes: ReadonlySet<number>;
}

type CommissionOptions = Parameters<DeviceAdministration['commission']>[1];

/** Commissions devices. Stores each commissioning before it begins, so that the hub can find the device again after an interruption. */
export class Commissioner implements Service, Pick<DeviceAdministration, 'commission' | 'halfCommissioned' | 'forget'> {
  readonly #collaborators: Collaborators;
  readonly #options: CommissionerOptions;
  readonly #commissionings: CommissioningStore;
  readonly #recovery: CommissioningRecovery;
  readonly #running = new Set<SetupPayload>();
  readonly #closing = new AbortController();

  constructor(collaborators: Collaborators, options: CommissionerOptions = {}) {
    this.#collaborators = collaborators;
    this.#options = options;
    this.#commissionings = new CommissioningStore(collaborators);
    const { matter, recorder, logger, clock } = collaborators;
    this.#recovery = new CommissioningRecovery({ matter, recorder, logger, clock, commissionings: this.#commissionings });
  }

  /** Resumes interrupted commissionings in the background. The Matter node must already run. */
  async start(): Promise<void> {
    this.#recovery.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#recovery[Symbol.dispose]();
  }

  /**
   * Commissions the device of a setup code. If the code has several payloads, commissions their devices one after the other. Throws
   * VALIDATION_ERROR if the code is wrong or that of a bridge of this hub, CONFLICT if the same device is already being commissioned, NOT_FOUND if the network credentials
   * do not exist, NOT_CONFIGURED if BLE is needed but off, STORAGE_FAILED if the commissioning cannot be stored, and CANCELLED if it is
   * cancelled. If the device cannot be commissioned, throws COMMISSIONING_FAILED with `step`, `reason` and `advice`.
   */
  async commission(request: CommissionRequest, options: CommissionOptions): Promise<CommissionResult> {
    options.onProgress({ step: 'parse', note: 'reading the code' });
    const payloads = payloadsOf(request);
    this.#refuseOwnBridges(payloads);
    this.#checkRadio(request);
    const results: CommissionResult[] = [];
    for (const payload of payloads) results.push(await this.#commissionOne(payload, request, options));
    options.onProgress({ step: 'done', note: 'ready' });
    return {
      nodeId: results[0]?.nodeId ?? '',
      devices: results.flatMap((result) => result.devices),
      findings: results.flatMap((result) => result.findings),
      recognised: results.flatMap((result) => result.recognised),
    };
  }

  halfCommissioned(): readonly HalfCommissioned[] {
    return this.#commissionings.halfCommissioned();
  }

  /** Removes a half-commissioned device from the list. Throws NOT_FOUND if no half-commissioned device has this id. */
  forget(id: string): void {
    if (!this.halfCommissioned().some((half) => half.id === id)) {
      throw new AtmoError('NOT_FOUND', `No half commissioned device has the id ${JSON.stringify(id)}`);
    }
    this.#commissionings.close(id);
  }

  async #commissionOne(payload: SetupPayload, request: CommissionRequest, options: CommissionOptions): Promise<CommissionResult> {
    this.#claim(payload);
    try {
      const { matter } = this.#collaborators;
      const nodeId = NodeId.randomOperationalNodeId(matter.node.env.get(Crypto));
      const details = present({ ...request, shortDiscriminator: shortDiscriminatorOf(payload) });
      const entry = this.#commissionings.open(String(nodeId), details);
      return await this.#run(entry, payload, { request, options });
    } finally {
      this.#running.delete(payload);
    }
  }

  async #run(
    entry: CommissioningEntry,
    payload: SetupPayload,
    { request, options }: { readonly request: CommissionRequest; readonly options: CommissionOptions },
  ): Promise<CommissionResult> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    const { matter, credentials, clock, recorder } = this.#collaborators;
    const attempt = new CommissionAttempt(
      { matter, credentials, clock, commissionings: this.#commissionings },
      { ...this.#options, entry, payload, request },
      { onProgress: options.onProgress, signal },
    );
    try {
      const findings = await attempt.run();
      options.onProgress({ step: 'record', note: 'making its tools' });
      const { name, area } = request;
      const devices = await recorder.record(entry.nodeId, present({ name, area, findings }));
      this.#commissionings.finish(entry.id);
      const recognised = recorder.recognised().filter((one) => devices.some(({ id }) => id === one.device));
      return { nodeId: entry.nodeId, devices, findings, recognised };
    } catch (error) {
      this.#cleanUp(entry.id, attempt);
      throw error;
    }
  }

  /** Called after a failure. If the device has no data of our fabric, removes the stored commissioning; otherwise starts its recovery. */
  #cleanUp(id: string, attempt: CommissionAttempt): void {
    const entry = this.#commissionings.get(id);
    if (entry.stage === 'intent' || attempt.isRolledBack) this.#commissionings.close(id);
    else void this.#recovery.recover(entry);
  }

  /**
   * Throws CONFLICT if the device is already being commissioned. Compares the passcode and only the upper 4 bits of the discriminator: a
   * manual code does not contain the other bits.
   */
  #claim(payload: SetupPayload): void {
    const isSame = (other: SetupPayload): boolean =>
      other.passcode === payload.passcode && shortDiscriminatorOf(other) === shortDiscriminatorOf(payload);
    if ([...this.#running].some(isSame)) {
      throw new AtmoError('CONFLICT', 'This device is being commissioned already; wait until that has ended');
    }
    this.#running.add(payload);
  }

  /** Throws VALIDATION_ERROR for the code of a bridge of this hub: its things would come back as devices of the hub that has them. */
  #refuseOwnBridges(payloads: readonly SetupPayload[]): void {
    if (!payloads.some(({ passcode }) => this.#collaborators.bridgePasscodes.has(passcode))) return;
    const message = 'This is the code of a bridge of this hub itself. Enter it in the other app, such as Apple Home or Google Home';
    throw new AtmoError('VALIDATION_ERROR', message);
  }

  #checkRadio(request: CommissionRequest): void {
    const { credentials } = this.#collaborators;
    if (request.wifi === undefined && request.thread === undefined) return;
    if (request.wifi !== undefined) credentials.credentialsFor('wifi', request.wifi);
    if (request.thread !== undefined) credentials.credentialsFor('thread', request.thread);
    if (this.#collaborators.matter.ble !== undefined) return;
    throw new AtmoError(
      'NOT_CONFIGURED',
      'Giving a device Wi-Fi or Thread credentials needs Bluetooth, which is off: set matter.ble to true',
    );
  }
}

function payloadsOf(request: CommissionRequest): readonly SetupPayload[] {
  if (request.code !== undefined) return parseSetupCode(request.code);
  if (request.passcode === undefined) {
    throw new AtmoError('VALIDATION_ERROR', 'Give a setup code, or a passcode with its discriminator', { pointer: '/code' });
  }
  if (request.discriminator !== undefined) return [setupPayload(request.passcode, request.discriminator)];
  if (request.address === undefined) {
    throw new AtmoError('VALIDATION_ERROR', 'A passcode alone does not find a device: add its discriminator or its address', {
      pointer: '/discriminator',
    });
  }
  const { passcode } = setupPayload(request.passcode, 0);
  return [{ passcode }];
}

function shortDiscriminatorOf(payload: SetupPayload): number | undefined {
  return payload.discriminator === undefined ? payload.shortDiscriminator : payload.discriminator >> 8;
}
