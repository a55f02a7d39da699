import type { Clock } from '../../../core/time/clock.ts';
import type { DropSink } from '../../link/drop-sink.ts';
import type { PeerLinks } from '../../link/peer-link.ts';
import type { CallRoutes, MemberKeys, MeshTokens, SigningHub } from '../call-ports.ts';
import { MeshRequests } from '../mesh-requests.ts';
import { SignedAnswers } from '../signed-answers.ts';
import { MeshCallRouter } from './call-router.ts';
import { MeshEvents } from './mesh-events.ts';
import { MeshJobs } from './mesh-jobs.ts';
import { MeshQueries } from './mesh-queries.ts';

interface CallClientCollaborators {
  readonly self: SigningHub;
  readonly links: PeerLinks;
  readonly routes: CallRoutes;
  readonly members: MemberKeys;
  readonly tokens: MeshTokens;
  readonly clock: Clock;
  /** The best that the hub knows of the time. */
  readonly time: Pick<Clock, 'now'>;
  readonly drops: DropSink;
}

/** What this hub has other hubs do for its callers. */
export class CallClient {
  readonly router: MeshCallRouter;
  readonly jobs: MeshJobs;
  readonly events: MeshEvents;

  constructor(collaborators: CallClientCollaborators) {
    const requests = new MeshRequests(collaborators);
    const answers = new SignedAnswers(collaborators);
    const queries = new MeshQueries({
      self: collaborators.self,
      routes: collaborators.routes,
      tokens: collaborators.tokens,
      members: collaborators.members,
      drops: collaborators.drops,
      time: collaborators.time,
      requests,
      answers,
    });
    const { clock } = collaborators;
    this.router = new MeshCallRouter({
      self: collaborators.self,
      routes: collaborators.routes,
      tokens: collaborators.tokens,
      members: collaborators.members,
      drops: collaborators.drops,
      clock: collaborators.clock,
      time: collaborators.time,
      requests,
      answers,
    });
    this.jobs = new MeshJobs({ queries, clock });
    this.events = new MeshEvents({ queries, clock });
  }
}
