import type { MeshEngine, PeerAddress } from '../../../src/mesh/transport/mesh-engine.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryEngine } from '../memory-engine.ts';
import { MemoryNetwork } from '../memory-network.ts';
import { madeUpHub, openGate } from './engine-fixtures.ts';
import type { EngineLab, LabOptions, Stranger } from './engine-lab.ts';

const HOST = '10.0.0.1';

/** In-memory engines on a clock that is moved by hand. */
export class MemoryLab implements EngineLab {
  readonly clock = new ManualClock();
  readonly network: MemoryNetwork;
  readonly #engines: MemoryEngine[] = [];
  #nextPort = 1;

  constructor(latencyMs = 0) {
    this.network = new MemoryNetwork({ clock: this.clock, latencyMs: () => latencyMs });
  }

  identity(): ReturnType<typeof madeUpHub> {
    return madeUpHub();
  }

  async engine({ identity, gate = openGate, maxConnections, at }: LabOptions = {}): Promise<MemoryEngine> {
    const address = `${at?.host ?? HOST}:${at?.port ?? this.#nextPort++}`;
    const self = { ...madeUpHub(), ...identity };
    const engine = new MemoryEngine({ network: this.network, address, self, gate, ...(maxConnections && { maxConnections }) });
    await engine.start();
    this.#engines.push(engine);
    return engine;
  }

  addressOf(engine: MeshEngine): PeerAddress {
    const [host = '', port] = engine.listenAddresses()[0]?.split(':') ?? [];
    return { host, port: Number(port) };
  }

  nowhere(): PeerAddress {
    return { host: HOST, port: 65_535 };
  }

  async stranger({ host, port }: PeerAddress): Promise<Stranger> {
    const end = await this.network.dial('10.6.6.6:6', `${host}:${port}`, new AbortController().signal);
    end.send({ type: 'hello', ...madeUpHub() });
    const cut = Promise.withResolvers<void>();
    end.listen(
      () => undefined,
      () => cut.resolve(),
    );
    return { write: (bytes) => end.send({ type: 'gate', bytes }), cut: cut.promise };
  }

  async pass(ms: number): Promise<void> {
    await settled();
    this.clock.advance(ms);
    await settled();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const engine of this.#engines) await engine[Symbol.asyncDispose]();
  }
}

/** Runs what is due now, and what that causes. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
