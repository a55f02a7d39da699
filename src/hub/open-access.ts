import { ApprovalStore } from '../access/approvals/approval-store.ts';
import { ApproverRegistry } from '../access/approvals/approver-registry.ts';
import { OwnerApproverKey } from '../access/approvals/owner-approver-key.ts';
import { ClockFloor } from '../access/clock/clock-floor.ts';
import { buildTimeMs } from '../access/clock/clock-floor-build-time.ts';
import { SystemClockEvidence } from '../access/clock/clock-floor-evidence.ts';
import { GrantAuthorizer } from '../access/grant-authorizer.ts';
import { HubKey } from '../access/keys/hub-key.ts';
import { OwnerAuthenticator } from '../access/owner/owner-authenticator.ts';
import { OwnerCredential } from '../access/owner/owner-credential.ts';
import { RuleBook } from '../access/rules/rule-book.ts';
import { IssuerTrust } from '../access/tokens/issuer-trust.ts';
import { type MeshStanding, MeshTokens } from '../access/tokens/mesh-tokens.ts';
import { ProofOfPossession } from '../access/tokens/proof-of-possession.ts';
import { ReplayCache } from '../access/tokens/replay-cache.ts';
import { RevocationList } from '../access/tokens/revocation-list.ts';
import { TokenAuthenticator } from '../access/tokens/token-authenticator.ts';
import { TokenIssuer } from '../access/tokens/token-issuer.ts';
import { TokenRateLimiter } from '../access/tokens/token-rate-limiter.ts';
import { TokenRecords } from '../access/tokens/token-records.ts';
import { TokenRefusalNotes } from '../access/tokens/token-refusal-notes.ts';
import { TokenSeal } from '../access/tokens/token-seal.ts';
import { TokenVerifier } from '../access/tokens/token-verifier.ts';
import type { HubConfig } from '../config/config.ts';
import type { GroupsElsewhere, ResourceGroups } from '../core/access/permission.ts';
import type { DeviceFacts } from '../core/devices/device-facts.ts';
import type { EventBus } from '../core/events.ts';
import type { HubProblems } from '../core/hub-problems.ts';
import type { Logger } from '../core/logger.ts';
import type { ServiceStack } from '../core/service.ts';
import { repairTeller } from '../core/storage/kept-file.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import type { Clock } from '../core/time/clock.ts';
import { AuditStore } from '../journal/audit/audit-store.ts';
import type { StateAnchors } from '../journal/state-anchors.ts';

/** What the access room needs of the rest of the hub. */
export interface AccessGround {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly problems: HubProblems;
  readonly fileAnchors: StateAnchors;
  readonly store: KeyValueStore;
  readonly snapshotDirectory: string;
  /** What is known of devices for grants by type or area, and for rules. */
  readonly devices: ResourceGroups & DeviceFacts;
  /** What other hubs tell of theirs. */
  readonly devicesElsewhere: GroupsElsewhere;
  /** Opens the membership in a mesh, once key and time are there. */
  readonly openStanding: (identity: Identity) => Promise<MeshStanding>;
}

/** Who may do what here, and the proof of what was done. */
export interface Access {
  readonly key: HubKey;
  readonly time: ClockFloor;
  readonly audit: AuditStore;
  readonly credential: OwnerCredential;
  readonly authenticator: TokenAuthenticator;
  readonly authorizer: GrantAuthorizer;
  readonly tokens: TokenIssuer;
  /** Ended tokens, here and on other hubs. */
  readonly revocations: RevocationList;
  /** What this hub shows other hubs for those who call. */
  readonly meshTokens: MeshTokens;
  readonly rateLimiter: TokenRateLimiter;
  readonly approvers: ApproverRegistry;
  readonly approvals: ApprovalStore;
  readonly rules: RuleBook;
}

/** What stands before anybody can be known. */
export type Identity = Pick<Access, 'key' | 'time' | 'audit' | 'credential'>;
type Tokens = Pick<Access, 'authenticator' | 'tokens' | 'revocations' | 'meshTokens'>;

/** Opens everything that decides about calls, each part started when the next one needs it. */
export async function openAccess(ground: AccessGround, config: HubConfig, stack: ServiceStack): Promise<Access> {
  const identity = await openIdentity(ground, config, stack);
  const tokens = await openTokens(ground, identity, stack);
  const { clock, events, logger, store, devices, devicesElsewhere: elsewhere } = ground;
  const { audit, time, key } = identity;
  const approvers = new ApproverRegistry({ store, time, audit });
  await stack.start(new OwnerApproverKey({ approvers, logger, onRepaired: repairTeller(ground) }, config.stateDir));
  const approvals = new ApprovalStore({ store, clock, time, audit, events, logger, approvers, devices }, { hubId: key.hubId });
  await stack.start(approvals);
  const mustExist = config.namedPlaces.some(({ key }) => key === 'rules');
  const book = { clock, time, logger, events, audit, problems: ground.problems, store, facts: devices };
  const rules = new RuleBook(book, config.rulesFile, { mustExist });
  await stack.start(rules);
  const authorizer = new GrantAuthorizer({ groups: devices, elsewhere, validity: tokens.authenticator });
  return {
    key,
    time,
    audit,
    credential: identity.credential,
    authenticator: tokens.authenticator,
    authorizer,
    tokens: tokens.tokens,
    revocations: tokens.revocations,
    meshTokens: tokens.meshTokens,
    rateLimiter: new TokenRateLimiter(clock),
    approvers,
    approvals,
    rules,
  };
}

async function openIdentity(ground: AccessGround, config: HubConfig, stack: ServiceStack): Promise<Identity> {
  const { clock, logger, events, problems, fileAnchors, store, snapshotDirectory } = ground;
  const { stateDir } = config;
  const onRepaired = repairTeller(ground);
  const key = new HubKey(stateDir, onRepaired);
  await stack.start(key);
  const options = { trust: config.clockTrust, buildTimeMs: buildTimeMs() };
  const time = new ClockFloor({ clock, store, evidence: new SystemClockEvidence() }, options);
  await stack.start(time);
  const places = { directory: stateDir, snapshotDirectory, hubId: key.hubId };
  const audit = new AuditStore({ clock, logger, events, problems, fileAnchors, anchors: store }, { ...places, ...config.audit });
  await stack.start(audit);
  const credential = new OwnerCredential(stateDir, onRepaired);
  await stack.start(credential);
  return { key, time, audit, credential };
}

async function openTokens(ground: AccessGround, identity: Identity, stack: ServiceStack): Promise<Tokens> {
  const { clock, logger, events, store, openStanding } = ground;
  const { key: hub, time, audit } = identity;
  const { hubId } = hub;
  const mesh = await openStanding(identity);
  const meshId = () => mesh.meshId();
  const issuers = new IssuerTrust({ hub, mesh });
  const revocations = new RevocationList({ hub, issuers, store, time, logger });
  await stack.start(revocations);
  const replays = new ReplayCache({ store, time });
  await stack.start(replays);
  const verifier = new TokenVerifier({ issuers, revocations, time, onIssuedAt: (ms) => time.observeIssuedAt(ms) }, { hubId, meshId });
  const parts = {
    verifier,
    owner: new OwnerAuthenticator(identity.credential),
    proofs: new ProofOfPossession({ replays, time }, hubId),
    refusals: new TokenRefusalNotes({ audit, clock, logger }),
    seal: new TokenSeal(hub.privateKey),
  };
  return {
    authenticator: new TokenAuthenticator(parts, { hubKey: hub.publicKey }),
    tokens: new TokenIssuer({ hub, verifier, revocations, records: new TokenRecords({ store, time }, hubId), time, events }, { meshId }),
    revocations,
    meshTokens: new MeshTokens({ hub, mesh, time }),
  };
}
