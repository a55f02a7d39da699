import { type HubState, inCanonicalOrder, SITE_FEATURE, stateDigest } from '../../src/codec/messages/announced-state.ts';
import { paginate, signAnnouncement } from '../../src/codec/messages/announcement.ts';
import { offeredDefinition } from '../../src/mesh/gossip/definition-store.ts';
import type { RegisteredTool } from '../../src/tools/definition/tool-definition.ts';
import { makeIdentity, type SimulatedAuthority } from './simulated-authority.ts';

/** The first announcement of a new hub with these tools, and with a site if one is named. */
export function announceFull(authority: SimulatedAuthority, tools: readonly RegisteredTool[], site?: string): Uint8Array {
  const identity = makeIdentity();
  const state: HubState = {
    name: 'hub',
    version: '0.0.0',
    addresses: ['192.168.1.20:8082'],
    links: [],
    capabilities: [
      { type: 'light_control', description: 'Lights' },
      ...(site === undefined ? [] : [{ type: SITE_FEATURE, description: site }]),
    ],
    tools: inCanonicalOrder(tools.map((tool) => ({ id: tool.id, hash: offeredDefinition(tool).hash }))),
    devices: null,
  };
  const header = { hubId: identity.hubId, epoch: 1, sequence: 1, timeMs: 0, ttlSeconds: 300, digest: stateDigest(state) };
  const { announced } = paginate(state);
  return signAnnouncement({ kind: 'full', ...header, certificate: authority.certify(identity), state: announced }, identity.privateKey);
}
