import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeTool, settled } from '../calls/pipeline-fixture.ts';
import { WholeClock } from '../manual-clock.ts';
import { MemoryNetwork } from '../mesh/memory-network.ts';
import { runClock } from '../mesh/run-clock.ts';
import { WholeHub } from './whole-hub.ts';

const NAMES = ['north-1', 'north-2', 'north-3', 'south-1', 'south-2', 'south-3'] as const;
type Name = (typeof NAMES)[number];

/** Two sites of three hubs. Only one hub of the first site has an address in the second one. */
class TwoSites implements AsyncDisposable {
  readonly clock = new WholeClock(Date.now());
  readonly network = new MemoryNetwork({ clock: this.clock, latencyMs: () => 1 });
  readonly ran: string[] = [];
  readonly #hubs: ReadonlyMap<Name, WholeHub>;

  constructor() {
    this.#hubs = new Map(NAMES.map((name) => [name, this.#make(name)]));
  }

  async start(): Promise<void> {
    for (const name of NAMES) {
      const { hub } = this.of(name);
      await hub.start();
      hub.orchestrator.registerTool(this.#tool(name.replace('-', '_')));
    }
    const first = this.of('north-1');
    await this.during(first.call('mesh_create', { passphrase: 'five words that nobody guesses' }));
    for (const name of NAMES.slice(1)) {
      const { result } = await this.during(first.call('mesh_invite', { addresses: ['north-1:1'] }));
      const joined = await this.during(this.of(name).call('mesh_join', { invite: result.invite }));
      expect(joined).toMatchObject({ status: 'success' });
    }
    await runClock(this.clock, 40_000);
  }

  of(name: Name): WholeHub {
    const hub = this.#hubs.get(name);
    if (!hub) throw new RangeError(name);
    return hub;
  }

  /** Moves time on until the promise has settled. */
  async during<Value>(work: Promise<Value>): Promise<Value> {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    work.then(over, over);
    for (let step = 0; step < 2_000 && !isOver; step++) await runClock(this.clock, 10, 10);
    return work;
  }

  /** Names of the hubs that a hub knows as peers. */
  async peersOf(name: Name): Promise<readonly string[]> {
    const { result } = await this.of(name).call('mesh_peers');
    return result.map((peer: { readonly name: string }) => peer.name).toSorted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#hubs.values()].map((hub) => this.during(hub[Symbol.asyncDispose]())));
  }

  #make(name: Name): WholeHub {
    const [site = ''] = name.split('-');
    const peers = name === 'north-3' ? ['south-2:1'] : [`${site}-1:1`];
    const mesh = { discovery: false, name, site, peers: peers.filter((peer) => peer !== `${name}:1`), announce_addresses: [`${name}:1`] };
    return new WholeHub({
      clock: this.clock,
      network: this.network,
      rules: 'rules: []\n',
      config: { mesh },
      meshAt: { host: name, port: 1 },
    });
  }

  #tool(name: string) {
    return makeTool({
      name: `lamp_of_${name}`,
      namespace: 'probe',
      requires: { permissions: ['probe:use'] },
      execution: { side_effects: true },
      handler: async () => {
        this.ran.push(name);
        return { ok: true };
      },
    });
  }
}

const sites = new TwoSites();
beforeAll(() => sites.start(), 60_000);
afterAll(() => sites[Symbol.asyncDispose]());

describe('two sites of a mesh', () => {
  test('announce their hubs only inside', async () => {
    expect(await sites.peersOf('north-2')).toEqual(['north-1', 'north-3']);
    expect(await sites.peersOf('south-2')).toEqual(['south-1', 'south-3']);
  });

  test('run a call of a hub of the other site, which reaches it over their border members', async () => {
    for (const [caller, callee] of [
      ['north-2', 'south_3'],
      ['south-1', 'north_2'],
    ] as const) {
      sites.ran.length = 0;
      const only = `only_nodes=${callee.replace('_', '-')}`;
      const answer = await sites.during(sites.of(caller).ask(`/api/v1/tools/lamp_of_${callee}/invoke?${only}`, { body: {} }));
      expect(answer).toMatchObject({ status: 'success', result: { ok: true } });
      expect(answer.execution.hops).toBeGreaterThanOrEqual(1);
      expect(sites.ran).toEqual([callee]);
    }
  });

  test('run no call there that only names a tool', async () => {
    sites.ran.length = 0;
    const answer = await sites.during(sites.of('north-2').call('lamp_of_south_3'));
    expect(answer).toMatchObject({ error: { code: 'AMBIGUOUS_TOOL', message: expect.stringContaining('another site has') } });
    expect(sites.ran).toEqual([]);
  });

  test('say of a tool that is nowhere that it is unknown', async () => {
    const answer = await sites.during(sites.of('north-2').call('lamp_of_nobody'));
    expect(answer).toMatchObject({ error: { code: 'TOOL_NOT_FOUND' } });
  });

  test('let the other hub refuse what its token does not allow', async () => {
    const minted = await sites.of('north-2').ask('/api/v1/tokens', { body: { agent_id: 'a', permissions: ['light:on'] } });
    sites.ran.length = 0;
    const answer = await sites.during(sites.of('north-2').call('lamp_of_south_3', {}, minted.token));
    await settled();
    expect(answer.error?.code ?? answer.code).toBe('TOOL_NOT_FOUND');
    expect(sites.ran).toEqual([]);
  });
});
