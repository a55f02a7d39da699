import { silentLogger } from '../../../src/core/logger.ts';
import { CertificateRenewal } from '../../../src/mesh/membership/certificate-renewal.ts';
import { type JoinOptions, joinMesh } from '../../../src/mesh/membership/join-mesh.ts';
import { ControlLinks } from '../../../src/mesh/rpc/control-links.ts';
import { MemoryEngine } from '../memory-engine.ts';
import { MemoryNetwork } from '../memory-network.ts';
import { runClock } from '../run-clock.ts';
import { type MembershipFixture, type MembershipFixtureOptions, membershipFixture } from './membership-fixture.ts';

/** Hubs whose connections are real ones of the engine in memory, gates and control streams included. */
export class MeshFixture implements AsyncDisposable {
  readonly network: MemoryNetwork;
  readonly clock: MembershipFixture['clock'];
  readonly #owned: AsyncDisposable[] = [];

  constructor(clock: MembershipFixture['clock']) {
    this.clock = clock;
    this.network = new MemoryNetwork({ clock });
  }

  async add(setup: MembershipFixture) {
    const { self, gate, membership, admission, authority, time, clock, events } = setup;
    const host = `${self.hubId}.test`;
    const engine = new MemoryEngine({
      network: this.network,
      address: `${host}:1`,
      self: { id: self.hubId, publicKey: self.publicKey },
      gate,
    });
    const links = new ControlLinks({ engine, clock, logger: silentLogger, drops: { count: () => undefined } });
    const renewal = new CertificateRenewal({ membership, admission, authority, links, time, clock, events, logger: silentLogger });
    membership.onLost((hub) => void engine.disconnect(hub));
    for (const service of [engine, links, renewal]) {
      await service.start();
      this.#owned.unshift(service);
    }
    const dial = async (to: string) => {
      const peer = await engine.connect({ host: to, port: 1 }, { signal: never });
      await this.run(1000);
      return peer;
    };
    const join = (options: Partial<JoinOptions> & Pick<JoinOptions, 'invite'>) =>
      joinMesh({ membership, engine, time }, { name: 'Attic', found: [], signal: never, ...options });
    return { ...setup, host, engine, links, renewal, dial, join };
  }

  async addNew(options: MembershipFixtureOptions = {}) {
    return this.add(await membershipFixture({ clock: this.clock, ...options }));
  }

  run(ms: number, stepMs?: number): Promise<void> {
    return runClock(this.clock, ms, stepMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const service of this.#owned) await service[Symbol.asyncDispose]();
  }
}

const never = new AbortController().signal;
