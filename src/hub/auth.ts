import { join } from 'node:path';
import { ApprovalStore } from '../auth/approvals/approval-store.ts';
import { ApprovalWaitSettings } from '../auth/approvals/approval-waits.ts';
import { ApproverRegistry, enrolOwnerKey } from '../auth/approvals/approver-registry.ts';
import { StandingAnswerStore } from '../auth/approvals/standing-answer-store.ts';
import { HubCallVault } from '../auth/call-vault.ts';
import { GrantAuthorizer } from '../auth/grant-authorizer.ts';
import { HubKey } from '../auth/hub-key.ts';
import { GrantedTokens } from '../auth/oauth/access-tokens.ts';
import { isAgentOfClient } from '../auth/oauth/client-agents.ts';
import type { OAuthGrants } from '../auth/oauth/grants.ts';
import { OwnerAuthenticator, OwnerCredential } from '../auth/owner-token.ts';
import { ApprovingPersons, Household } from '../auth/people/household.ts';
import { Invitations } from '../auth/people/invitations.ts';
import { PeopleService } from '../auth/people/people-service.ts';
import { SignInStore } from '../auth/people/sign-in-store.ts';
import { RuleStore } from '../auth/rules/rule-store.ts';
import { readSecretFile, removeSecretFile, type SecretFile, writeSecretFile } from '../auth/secret-file.ts';
import { MeshTokens } from '../auth/tokens/mesh-tokens.ts';
import { ProofOfPossession, ReplayCache } from '../auth/tokens/proof-of-possession.ts';
import { RevocationList } from '../auth/tokens/revocation-list.ts';
import { TokenAuthenticator, TokenRefusalLog } from '../auth/tokens/token-authenticator.ts';
import { TokenSeal, trustedIssuers } from '../auth/tokens/token-chain.ts';
import { TokenIssuer, TokenRecords } from '../auth/tokens/token-issuer.ts';
import { TokenRateLimiter } from '../auth/tokens/token-rate-limiter.ts';
import { TokenVerifier } from '../auth/tokens/token-verifier.ts';
import { buildTimeMs, SystemClockEvidence, TrustedClock } from '../auth/trusted-clock.ts';
import { lazyFetch } from '../connectors/web/web-connector.ts';
import type { AuthorizationServer } from '../core/auth/oauth.ts';
import type { RemoteGroups, ResourceGroups } from '../core/auth/permission.ts';
import type { HubContext } from '../core/context.ts';
import type { DeviceFacts } from '../core/devices/device-names.ts';
import { type OnRepaired, repairReporter } from '../core/files/recoverable-file.ts';
import type { HubProblems } from '../core/health.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
import { type Membership, openMembership } from '../mesh/membership/membership.ts';
import { isSealedRootKey, type RootKeyFile } from '../mesh/membership/root-key.ts';
import { AuditStore } from '../storage/audit/audit-store.ts';
import type { StateAnchors } from '../storage/state-anchors.ts';
import type { HubConfig } from './config/config.ts';
import { makeAuthorizationServer, makeGrants } from './oauth.ts';

/** A rehearsal costs as much as the checks of a call. Nobody needs many at once, as nothing happens. */
const REHEARSALS = { burst: 120, perSecond: 20 };
const ROOT_KEY_FILE = 'mesh-root.key';

/** The parts of the hub that `openAuth` needs. */
export interface AuthCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'events' | 'store'> {
  /** Whether the store lost its last changes before this start. */
  readonly hasLostState: boolean;
  readonly problems: HubProblems;
  readonly fileAnchors: StateAnchors;
  readonly snapshotDirectory: string;
  readonly devices: ResourceGroups & DeviceFacts;
  readonly devicesElsewhere: RemoteGroups;
}

/** The parts that authenticate callers, decide whether a call is allowed, and record the calls. */
export interface Auth {
  readonly key: HubKey;
  readonly time: TrustedClock;
  readonly audit: AuditStore;
  readonly credential: OwnerCredential;
  readonly membership: Membership;
  readonly authenticator: TokenAuthenticator;
  readonly authorizer: GrantAuthorizer;
  readonly tokens: TokenIssuer;
  /** The list of revoked tokens. It includes the tokens that other hubs revoked. */
  readonly revocations: RevocationList;
  /** The tokens that this hub sends to other hubs on behalf of its callers. */
  readonly meshTokens: MeshTokens;
  readonly rateLimiter: TokenRateLimiter;
  /** Counts rehearsals of calls, which `rateLimiter` does not count. */
  readonly rehearsalLimiter: TokenRateLimiter;
  readonly approvers: ApproverRegistry;
  readonly approvals: ApprovalStore;
  /** How long requests for approval wait. */
  readonly waits: ApprovalWaitSettings;
  /** The persons of the household and their sign-ins. */
  readonly people: PeopleService;
  /** The authorization server, with which persons give applications access. */
  readonly oauth: AuthorizationServer;
  /** The answers to requests for approval that hold on. */
  readonly standing: StandingAnswerStore;
  /** Encrypts the calls that wait for approval. */
  readonly callVault: HubCallVault;
  readonly rules: RuleStore;
}

/** The parts that are needed before a caller can be authenticated. */
type Identity = Pick<Auth, 'key' | 'time' | 'audit' | 'credential'>;
/** Opens all parts of `Auth`. Each part is started before the parts that need it. */
export async function openAuth(collaborators: AuthCollaborators, config: HubConfig, stack: ServiceStack): Promise<Auth> {
  const identity = await openIdentity(collaborators, config, stack);
  const membership = await openMeshMembership(collaborators, identity, config.stateDir, stack);
  const tokens = await openTokens(collaborators, { identity, membership }, stack);
  const { clock, events, logger, store, devices, devicesElsewhere: elsewhere } = collaborators;
  const { audit, time, key } = identity;
  const approvers = new ApproverRegistry({ store, time, audit, persons: new ApprovingPersons({ store, time }) });
  await enrolOwnerKey({ approvers, logger, onRepaired: repairReporter(collaborators) }, config.stateDir);
  const { hubId } = key;
  const standing = new StandingAnswerStore({ store, clock, time, audit, events, logger, approvers, devices }, { hubId });
  const waits = new ApprovalWaitSettings(store, config.approvalWaits);
  const approvals = new ApprovalStore({ store, clock, time, audit, events, logger, approvers, devices, standing, waits }, { hubId });
  await stack.start(approvals);
  const { people, grants } = await openPeople(collaborators, { identity, tokens, approvers }, stack);
  const mustExist = config.namedPlaces.some(({ key }) => key === 'rules');
  const ruleCollaborators = { clock, time, logger, events, audit, problems: collaborators.problems, store, facts: devices };
  const rules = new RuleStore(ruleCollaborators, config.rulesFile, { mustExist });
  await stack.start(rules);
  const oauth = makeAuthorizationServer({
    audit,
    clock,
    logger,
    store,
    time,
    tokens: tokens.tokens,
    grants,
    people,
    rules,
    fetchPublic: lazyFetch(),
  });
  const members = { has: (hub: string) => membership.membership.member(hub) !== undefined };
  const authorizer = new GrantAuthorizer({ groups: devices, elsewhere, validity: tokens.authenticator });
  return {
    key,
    time,
    audit,
    credential: identity.credential,
    membership,
    authenticator: tokens.authenticator,
    authorizer,
    tokens: tokens.tokens,
    revocations: tokens.revocations,
    meshTokens: tokens.meshTokens,
    rateLimiter: new TokenRateLimiter(clock),
    rehearsalLimiter: new TokenRateLimiter(clock, { fixedRate: REHEARSALS }),
    approvers,
    approvals,
    waits,
    people,
    oauth,
    standing,
    callVault: new HubCallVault({ key, tokens: tokens.tokens, owner: tokens.owner, members }),
    rules,
  };
}

interface PeopleInputs {
  readonly identity: Identity;
  readonly tokens: { readonly tokens: TokenIssuer; readonly granted: GrantedTokens };
  readonly approvers: ApproverRegistry;
}

async function openPeople(
  { clock, logger, store }: AuthCollaborators,
  { identity, tokens: { tokens, granted }, approvers }: PeopleInputs,
  stack: ServiceStack,
): Promise<{ readonly people: PeopleService; readonly grants: OAuthGrants }> {
  const { audit, time } = identity;
  const household = new Household({ store, approvers });
  const signIns = new SignInStore({ store });
  const grants = makeGrants({ audit, logger, store, time, tokens, granted, household, signIns });
  await stack.start(grants);
  const invitations = new Invitations({ store, time });
  const people = new PeopleService({
    clock,
    logger,
    audit,
    time,
    household,
    invitations,
    signIns,
    tokens,
    grants,
    approvers,
  });
  await stack.start(people);
  return { people, grants };
}

async function openIdentity(collaborators: AuthCollaborators, config: HubConfig, stack: ServiceStack): Promise<Identity> {
  const { clock, logger, events, problems, fileAnchors, store, snapshotDirectory } = collaborators;
  const { stateDir } = config;
  const onRepaired = repairReporter(collaborators);
  const key = new HubKey(stateDir, onRepaired);
  await stack.start(key);
  const options = { trust: config.clockTrust, buildTimeMs: buildTimeMs() };
  const time = new TrustedClock({ clock, store, evidence: new SystemClockEvidence() }, options);
  await stack.start(time);
  const places = { directory: stateDir, snapshotDirectory, hubId: key.hubId, cacheKib: config.memory.databaseCacheKib };
  const audit = new AuditStore({ clock, logger, events, problems, fileAnchors, anchors: store }, { ...places, ...config.audit });
  await stack.start(audit);
  const credential = new OwnerCredential(stateDir, onRepaired);
  await stack.start(credential);
  return { key, time, audit, credential };
}

/** Opens the mesh membership. It is opened before the tokens, because a token can be verified only if the mesh members are known. */
async function openMeshMembership(
  collaborators: AuthCollaborators,
  { key, time }: Identity,
  stateDir: string,
  stack: ServiceStack,
): Promise<Membership> {
  const { store, clock, events, logger } = collaborators;
  const rootKeyFile = rootKeyFileIn(stateDir, repairReporter(collaborators));
  const opened = openMembership({ store, clock, events, logger, self: key, time, rootKeyFile });
  await stack.start(opened.membership);
  return opened;
}

function rootKeyFileIn(stateDir: string, onRepaired: OnRepaired): RootKeyFile {
  const path = join(stateDir, ROOT_KEY_FILE);
  const file: SecretFile = {
    path,
    ifOthersReadIt: 'make a new mesh: they may try passphrases on it',
    isWhole: isSealedRootKey,
    onRepaired,
  };
  return {
    path,
    read: () => readSecretFile(file)?.trim(),
    write: (text) => writeSecretFile(file, `${text}\n`),
    remove: () => removeSecretFile(file),
  };
}

interface Tokens extends Pick<Auth, 'authenticator' | 'tokens' | 'revocations' | 'meshTokens'> {
  readonly owner: OwnerAuthenticator;
  readonly granted: GrantedTokens;
}

async function openTokens(
  collaborators: AuthCollaborators,
  { identity, membership: { membership: mesh } }: { readonly identity: Identity; readonly membership: Membership },
  stack: ServiceStack,
): Promise<Tokens> {
  const { clock, logger, events, store, hasLostState } = collaborators;
  const { key: hub, time, audit } = identity;
  const { hubId } = hub;
  const meshId = () => mesh.meshId();
  const issuers = trustedIssuers({ hub, mesh });
  const records = new TokenRecords({ store, time }, hubId);
  const revocations = new RevocationList({ hub, issuers, records, store, clock, time, logger });
  await stack.start(revocations);
  const replays = new ReplayCache({ store, time, clock, hasLostState });
  await stack.start(replays);
  const verifier = new TokenVerifier({ issuers, revocations, time, onIssuedAt: (ms) => time.observeIssuedAt(ms) }, { hubId, meshId });
  const owner = new OwnerAuthenticator(identity.credential);
  const granted = new GrantedTokens();
  const isApplication = (agentId: string) => isAgentOfClient(store, agentId);
  const parts = {
    verifier,
    granted,
    owner,
    proofs: new ProofOfPossession({ replays, time }, hubId),
    refusals: new TokenRefusalLog({ audit, clock, logger }),
    seal: new TokenSeal(hub.privateKey),
  };
  return {
    authenticator: new TokenAuthenticator(parts, { hubKey: hub.publicKey }),
    tokens: new TokenIssuer({ hub, verifier, revocations, records, isApplication, time, events }, { meshId }),
    revocations,
    owner,
    granted,
    meshTokens: new MeshTokens({ hub, mesh, time }),
  };
}
