import type { ForwardedCall } from '../../../src/calls/pipeline-context.ts';
import type { ProtocolFeature } from '../../../src/codec/messages/announced-state.ts';
import { hubIdOf } from '../../../src/codec/public-key.ts';
import { foreignAgentId, type Principal, type RuleVerdict } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { HubEvent } from '../../../src/core/events.ts';
import type { HubId } from '../../../src/core/ids.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { CallClient } from '../../../src/mesh/rpc/call-client.ts';
import { RpcEndpoint } from '../../../src/mesh/rpc/rpc-endpoint.ts';
import type { MeshEngine, MeshStream } from '../../../src/mesh/transport/mesh-engine.ts';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { ToolDirectory } from '../../../src/tools/registry/tool-directory.ts';
import { ToolRegistry } from '../../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makePipeline, NO_OTHERS } from '../../calls/pipeline-fixture.ts';
import { CountedDrops, type HubIdentity, identities, LinkFixture } from './link-fixture.ts';

export const HOUR_MS = 3_600_000;

/** What a frame that is about to be sent becomes. */
export type Tap = (frame: Uint8Array, to: HubId) => Uint8Array | 'cut-before' | 'cut-after' | undefined;

interface TokenClaims {
  readonly id: string;
  readonly key: string;
  /** Key of the link before the last one. */
  readonly parentKey?: string;
  readonly permissions: readonly string[];
  readonly expiresAtMs: number;
  readonly maxHops?: number;
}

/** A token that says who it is for; the signatures of real ones are tested where they are made. */
export function tokenText(claims: TokenClaims): string {
  return `at1.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
}

/** As the executing hub calls it: agents of other hubs carry the name of theirs. */
function principalOfText(text: string, nowMs: number): Principal {
  const { id, key, parentKey, permissions, expiresAtMs, maxHops } = JSON.parse(
    Buffer.from(text.slice(4), 'base64url').toString(),
  ) as TokenClaims;
  if (expiresAtMs < nowMs) throw new AtmoError('TOKEN_EXPIRED', 'The token has ended');
  const token = {
    id: 'aa',
    chain: ['aa'],
    text,
    expiresAtMs,
    keys: parentKey === undefined ? [key] : [parentKey, key],
    rateLimits: [],
    ...(maxHops !== undefined && { maxHops }),
  };
  return { id: foreignAgentId(id, hubIdOf(key)), kind: 'agent', permissions, token };
}

/** Hubs with links, pipelines and everything that calls between them need, in memory and on one clock. */
export class CallFixture {
  readonly links: LinkFixture;
  readonly hubs: Awaited<ReturnType<CallFixture['add']>>[] = [];
  readonly members = new Map<string, HubIdentity>();
  /** Next hops by `from>to`. */
  readonly ways = new Map<string, HubId>();
  readonly epochs = new Map<HubId, number>();
  readonly revoked = new Set<string>();
  /** Those that read nothing but what all do. */
  readonly firstHubs = new Set<HubId>();
  /** Features that no hub reads. */
  readonly unread = new Set<ProtocolFeature>();
  /** Changes what hubs show for their callers. */
  claims: Partial<TokenClaims> = {};

  static async of(
    count: number,
    options: { readonly latencyMs?: number | (() => number); readonly relays?: boolean } = {},
  ): Promise<CallFixture> {
    const setup = new CallFixture(options);
    for (const identity of identities(count)) setup.hubs.push(await setup.add(identity, options));
    return setup;
  }

  constructor(options: { readonly latencyMs?: number | (() => number) }) {
    this.links = new LinkFixture(options);
  }

  get clock() {
    return this.links.clock;
  }

  hub(index: number) {
    const hub = this.hubs[index];
    if (!hub) throw new Error(`there is no hub ${index}`);
    return hub;
  }

  /** Connects neighbours in a line or as pairs say. */
  async connect(...pairs: readonly (readonly [number, number])[]): Promise<void> {
    for (const [a, b] of pairs) await this.links.connect(a, b);
    this.route();
  }

  /** Ways to hubs two hops away, as the directory would find them. */
  route(): void {
    this.ways.clear();
    for (const { id, links } of this.hubs) {
      for (const near of links.links()) {
        for (const far of this.hubs.find((hub) => hub.id === near.peer.id)?.links.links() ?? []) {
          if (far.peer.id !== id && !links.to(far.peer.id)) this.ways.set(`${id}>${far.peer.id}`, near.peer.id);
        }
      }
    }
  }

  run(ms: number, stepMs?: number): Promise<void> {
    return this.links.run(ms, stepMs);
  }

  /** Answers `asked` while time goes on, at most for `limitMs`. */
  async within<T>(limitMs: number, asked: Promise<T>, stepMs = 50): Promise<T> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    asked.then(settle, settle);
    await this.run(0);
    for (let left = limitMs; left > 0 && !isSettled; left -= stepMs) await this.run(stepMs, stepMs);
    if (!isSettled) throw new Error(`not settled within ${limitMs} ms`);
    return asked;
  }

  forwarded(tool: RegisteredTool, extra: Partial<ForwardedCall> = {}): ForwardedCall {
    return {
      principal: { id: 'agent-1', kind: 'agent', permissions: ['*'] },
      tool,
      params: {},
      requestId: 'req-1',
      traceId: 'trace-1',
      mode: 'sync',
      untilMs: this.clock.monotonic() + 30_000,
      hopBudget: 3,
      signal: new AbortController().signal,
      ...extra,
    };
  }

  async add(identity: HubIdentity, options: { readonly relays?: boolean } = {}) {
    const { clock, members, ways, epochs } = this;
    const { id } = identity;
    const tap: { current: Tap | undefined } = { current: undefined };
    const { engine, links, drops: linkDrops } = await this.links.add(identity, { wrap: (inner) => tapped(inner, tap) });
    members.set(id, identity);
    epochs.set(id, 7);
    const drops = new CountedDrops();
    const registry = new ToolRegistry({ validator: new SchemaValidator() });
    const time = { now: () => clock.now() };
    const parts = {
      self: { hubId: id, privateKey: identity.key },
      links,
      routes: {
        nextHop: (target: HubId) => ways.get(`${id}>${target}`),
        epochOf: (target: HubId) => epochs.get(target),
        reads: (target: HubId, feature: ProtocolFeature) => !this.firstHubs.has(target) && !this.unread.has(feature),
      },
      members: { keyOf: (hub: HubId) => memberKey(members.get(hub)) },
      clock,
      time,
      drops,
    };
    const tokens = {
      textFor: ({ id: agent, permissions }: Principal) =>
        tokenText({ id: agent, key: identity.publicKey, permissions, expiresAtMs: clock.now() + HOUR_MS, ...this.claims }),
    };
    const client = new CallClient({ ...parts, tokens });
    const validity = { isStillValid: (principal: Principal) => !this.revoked.has(principal.id) };
    const verdict: { current: RuleVerdict } = { current: { kind: 'allow' } };
    const setup = makePipeline({
      clock,
      self: { id },
      registry,
      tools: new ToolDirectory({ registry, self: { id, name: id }, remote: NO_OTHERS.tools, mesh: NO_OTHERS.view }),
      router: client.router,
      rules: { judge: () => verdict.current },
      validity,
    });
    const epoch = { value: 7 };
    const door = new RpcEndpoint(
      {
        ...parts,
        epoch: () => epoch.value,
        authority: { principalOf: (text: string) => principalOfText(text, clock.now()) },
        validity,
        pipeline: setup.pipeline,
        registry,
        jobs: setup.jobs,
        events: setup.events,
        visibleEvents: (principal: Principal) => (event: HubEvent) =>
          (event.data as JsonObject).private !== true || principal.id === 'boss',
      },
      { relays: options.relays ?? true },
    );
    door.listen();
    return { id, identity, engine, links, linkDrops, drops, tap, epoch, client, registry, setup, verdict };
  }
}

function memberKey(identity: HubIdentity | undefined) {
  return identity && { key: identity.publicKey, publicKey: identity.verifyKey };
}

/** The engine with an ear, and a pair of scissors, at the streams. */
function tapped(engine: MeshEngine, tap: { readonly current: Tap | undefined }): MeshEngine {
  const wrap = (stream: MeshStream): MeshStream => ({
    peer: stream.peer,
    send: (frame) => {
      const fate = tap.current ? tap.current(frame, stream.peer.id) : frame;
      if (fate === undefined) return true;
      if (fate instanceof Uint8Array) return stream.send(fate);
      if (fate === 'cut-after') stream.send(frame);
      void engine.disconnect(stream.peer.id);
      return false;
    },
    drained: () => stream.drained(),
    onFrame: (listener) => stream.onFrame(listener),
    onClose: (listener) => stream.onClose(listener),
    close: () => stream.close(),
    abort: () => stream.abort(),
  });
  return new Proxy(engine, {
    get(target, name) {
      if (name === 'openStream') {
        return async (...given: Parameters<MeshEngine['openStream']>) => wrap(await target.openStream(...given));
      }
      if (name === 'handle') {
        return (protocol: string, handler: (stream: MeshStream) => void) => target.handle(protocol, (stream) => handler(wrap(stream)));
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
