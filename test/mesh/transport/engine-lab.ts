import type { HubId } from '../../../src/core/ids.ts';
import type { ConnectionGate, MeshEngine, PeerAddress } from '../../../src/mesh/transport/mesh-engine.ts';

/** A key of a hub, in whatever form the kind of engine wants it. */
export interface LabIdentity {
  readonly id: HubId;
}

/** How an engine of the lab differs from the others. */
export interface LabOptions {
  readonly identity?: LabIdentity;
  readonly gate?: ConnectionGate;
  readonly maxConnections?: number;
  /** Where it listens; a free place when absent. */
  readonly at?: PeerAddress;
}

/** Somebody whose key the transport has proven and who says what he likes at the gate. */
export interface Stranger {
  /** Sends bytes as one message, below everything that an engine would check. */
  write(message: Uint8Array): void;
  /** Resolves when the engine has ended the connection. */
  readonly cut: Promise<void>;
}

/** What the contract of a mesh engine needs to be tried on one kind of engine. */
export interface EngineLab extends AsyncDisposable {
  identity(): LabIdentity;
  /** A started engine. */
  engine(options?: LabOptions): Promise<MeshEngine>;
  addressOf(engine: MeshEngine): PeerAddress;
  /** An address at which nothing listens. */
  nowhere(): PeerAddress;
  stranger(to: PeerAddress): Promise<Stranger>;
  /** Lets time pass. */
  pass(ms: number): Promise<void>;
}
