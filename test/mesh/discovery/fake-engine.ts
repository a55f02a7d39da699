import { AtmoError } from '../../../src/core/errors.ts';
import type { HubId } from '../../../src/core/ids.ts';
import { type EnginePeer, formatHostPort, type MeshEngine, type PeerAddress } from '../../../src/mesh/transport/mesh-engine.ts';

/** What answers at an address: a hub, a hub that refuses, nobody, or silence until the try ends. */
export type FakeAnswer = HubId | 'refusal' | 'nobody' | 'silence';

type PeerListener = (peer: EnginePeer) => void;
type Connections = Pick<MeshEngine, 'id' | 'peers' | 'connect' | 'disconnect' | 'listenAddresses' | 'onPeerUp' | 'onPeerDown'>;

/** The part of an engine that makes connections; tests say what answers where. */
export class FakeEngine implements Connections {
  readonly id: HubId;
  readonly answers = new Map<string, FakeAnswer>();
  /** Addresses that were tried, in order. */
  readonly tried: string[] = [];
  readonly #peers = new Map<HubId, EnginePeer>();
  readonly #up = new Set<PeerListener>();
  readonly #down = new Set<PeerListener>();

  constructor(id: HubId) {
    this.id = id;
  }

  /** As the keeper takes it: it uses no streams and no gossip. */
  get asEngine(): MeshEngine {
    return this as unknown as MeshEngine;
  }

  listenAddresses(): readonly string[] {
    return ['10.0.0.250:8082'];
  }

  peers(): readonly EnginePeer[] {
    return [...this.#peers.values()];
  }

  async connect(address: PeerAddress, { signal }: { readonly signal: AbortSignal }): Promise<EnginePeer> {
    const text = formatHostPort(address);
    this.tried.push(text);
    const answer = this.answers.get(text) ?? 'nobody';
    if (answer === 'silence') await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    if (answer === 'refusal') throw new AtmoError('PERMISSION_DENIED', 'refused');
    if (answer === 'nobody' || answer === 'silence') throw new AtmoError('NODE_UNAVAILABLE', 'nobody there');
    if (address.expect !== undefined && address.expect !== answer) throw new AtmoError('PERMISSION_DENIED', 'another hub');
    return this.#peers.get(answer) ?? this.arrive(answer, text, 'outbound');
  }

  arrive(id: HubId, address: string, direction: EnginePeer['direction'] = 'inbound'): EnginePeer {
    const peer: EnginePeer = { id, publicKey: '', direction, address };
    this.#peers.set(id, peer);
    for (const listener of this.#up) listener(peer);
    return peer;
  }

  async disconnect(id: HubId): Promise<void> {
    this.lose(id);
  }

  lose(id: HubId): void {
    const peer = this.#peers.get(id);
    if (!this.#peers.delete(id) || peer === undefined) return;
    for (const listener of this.#down) listener(peer);
  }

  onPeerUp(listener: PeerListener): () => void {
    this.#up.add(listener);
    return () => this.#up.delete(listener);
  }

  onPeerDown(listener: PeerListener): () => void {
    this.#down.add(listener);
    return () => this.#down.delete(listener);
  }
}
