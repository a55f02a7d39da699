import type { Authenticator, Principal } from '../../../core/access/principal.ts';
import type { TokenAuthority } from '../../../core/access/token-authority.ts';
import type { EventBus, HubEvent } from '../../../core/events.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { CallPipeline } from '../../../tools/calls/call-pipeline.ts';
import type { JobStore } from '../../../tools/calls/jobs/job-store.ts';
import type { ToolRegistry } from '../../../tools/tool-registry.ts';
import type { DropSink } from '../../link/drop-sink.ts';
import type { PeerLinks } from '../../link/peer-link.ts';
import type { CallRoutes, MemberKeys, SigningHub } from '../call-ports.ts';
import { MeshRequests } from '../mesh-requests.ts';
import { AnswerSigner } from './answer-signer.ts';
import { CallLedger } from './call-ledger.ts';
import { CallServer } from './call-server.ts';
import { QueryServer } from './query-server.ts';
import { RequestGuard } from './request-guard.ts';
import { RequestRelay } from './request-relay.ts';
import { SubscriptionServer } from './subscription-server.ts';

interface CallDoorCollaborators {
  readonly self: SigningHub;
  /** Epoch of this start of the hub, as its announcements say. */
  readonly epoch: () => number;
  readonly links: PeerLinks;
  readonly routes: CallRoutes;
  readonly members: MemberKeys;
  /** Turns the tokens of requests into principals. */
  readonly authority: Pick<TokenAuthority, 'principalOf'>;
  readonly validity: Pick<Authenticator, 'isStillValid'>;
  readonly pipeline: Pick<CallPipeline, 'call' | 'callAsync'>;
  readonly jobs: Pick<JobStore, 'get' | 'cancel'>;
  readonly registry: Pick<ToolRegistry, 'get'>;
  readonly events: Pick<EventBus, 'listen'>;
  /** What a principal may hear of this hub's events. */
  readonly mayHear: (principal: Principal) => (event: HubEvent) => boolean;
  readonly clock: Clock;
  /** The best that the hub knows of the time. */
  readonly time: Pick<Clock, 'now'>;
  readonly drops: DropSink;
}

/** What this hub does for callers of other hubs, and hands on for those that are not its neighbours. */
export class CallDoor {
  readonly #calls: CallServer;
  readonly #queries: QueryServer;

  constructor(collaborators: CallDoorCollaborators, options: { readonly relays: boolean }) {
    const { self, authority, clock } = collaborators;
    const requests = new MeshRequests(collaborators);
    const guard = new RequestGuard({
      epoch: collaborators.epoch,
      members: collaborators.members,
      clock: collaborators.clock,
      time: collaborators.time,
      links: collaborators.links,
      drops: collaborators.drops,
      self: self.hubId,
      tokens: authority,
    });
    const relay = new RequestRelay(
      { clock: collaborators.clock, drops: collaborators.drops, self: self.hubId, requests },
      { isEnabled: options.relays },
    );
    const ledger = new CallLedger(clock);
    const signer = new AnswerSigner(collaborators);
    const subscriptions = new SubscriptionServer({
      self: collaborators.self,
      events: collaborators.events,
      mayHear: collaborators.mayHear,
      validity: collaborators.validity,
      clock: collaborators.clock,
      time: collaborators.time,
      guard,
      signer,
    });
    this.#calls = new CallServer({
      self: collaborators.self,
      links: collaborators.links,
      pipeline: collaborators.pipeline,
      registry: collaborators.registry,
      clock: collaborators.clock,
      drops: collaborators.drops,
      guard,
      relay,
      ledger,
      signer,
    });
    this.#queries = new QueryServer({
      self: collaborators.self,
      links: collaborators.links,
      jobs: collaborators.jobs,
      registry: collaborators.registry,
      clock: collaborators.clock,
      epoch: collaborators.epoch,
      drops: collaborators.drops,
      guard,
      relay,
      ledger,
      signer,
      subscriptions,
    });
  }

  /** From now on requests are taken; once. */
  listen(): void {
    this.#calls.listen();
    this.#queries.listen();
  }
}
