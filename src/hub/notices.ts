import { statfs } from 'node:fs/promises';
import { agentNameOf } from '../auth/people/household.ts';
import { holdersOf } from '../auth/people/person-grants.ts';
import type { AgentRecord } from '../automations/agent-store.ts';
import type { Proposal } from '../automations/proposals/proposal-store.ts';
import type { PushConfig } from '../connectors/push/push-config.ts';
import { PUSH_HOSTS_SETTING, WebPush } from '../connectors/push/web-push.ts';
import { hostEntry } from '../connectors/web/address-policy.ts';
import { lazyFetch } from '../connectors/web/web-connector.ts';
import type { PeopleDirectory, Person } from '../core/auth/people.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
import type { NoticeKind, PeopleReach } from '../core/notices.ts';
import type { Questions } from '../core/questions.ts';
import { removePagePreferences } from '../http/routes/page-preference-routes.ts';
import type { CertificateFacts } from '../http/tls/certificate-manager.ts';
import { AgentNotices, type NoticedAgent } from '../notices/agent-notices.ts';
import { ApprovalNotices, uniqueName } from '../notices/approval-notices.ts';
import { DeviceNotices } from '../notices/device-notices.ts';
import { type EndingCertificate, HubNotices, type OfferedUpdate } from '../notices/hub-notices.ts';
import { NoticeOutbox } from '../notices/notice-outbox.ts';
import { NoticePublisher } from '../notices/notice-publisher.ts';
import { NoticeSettings } from '../notices/notice-settings.ts';
import { NoticeStore } from '../notices/notice-store.ts';
import { MessageNotices } from '../notices/person-messages.ts';
import { type NoticedProposal, ProposalNotices } from '../notices/proposal-notices.ts';
import { QuestionStore } from '../notices/question-store.ts';
import { type PersonalStore, RemovedPersons } from '../notices/removed-persons.ts';
import { ToolNotices } from '../notices/tool-notices.ts';
import { noticeTools } from '../tools/builtin/notice-tools.ts';
import { questionTools } from '../tools/builtin/question-tools.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ToolServices } from './tool-services.ts';
import { readUpgradeRecord } from './upgrade-record.ts';
import { VersionCheck, versionTool } from './version-check.ts';

interface NoticeOptions {
  /** The ways that the owner configured. */
  readonly reach: PeopleReach;
  readonly push: PushConfig;
  /** Returns the name that people read of an automation or agent. */
  readonly nameOf: (agentId: string) => string;
  /** Returns the address of the hub's page, which is known once the hub listens. */
  readonly pageUrl: () => string;
  readonly stack: ServiceStack;
}

/** What stores, publishes and delivers notices, and the questions to persons. */
export interface NoticeParts {
  readonly notices: NoticeStore;
  readonly publisher: NoticePublisher;
  readonly questions: Questions;
  /** Sends nothing before `resume`. */
  readonly outbox: NoticeOutbox;
}

interface NoticeSourceOptions {
  /** URL of the document that names the newest version of the hub; undefined if the hub does not look for one. */
  readonly versionUrl: string | undefined;
  /** Folder with the record of the last upgrade; undefined if no package runs the hub. */
  readonly upgradeDir: string | undefined;
  /** The version of the hub that runs. */
  readonly version: string;
  readonly stateDir: string;
  /** Name of this hub in the mesh. */
  readonly ownName: string;
  readonly agents: () => readonly AgentRecord[];
  /** Returns the automations that agents propose and nobody answered. */
  readonly proposals: () => readonly Proposal[];
  readonly certificate: () => CertificateFacts | undefined;
  readonly stack: ServiceStack;
}

/**
 * Registers the tools for notices, messages and questions, and starts what delivers notices. It comes before the automations, whose first
 * steps may already send a message.
 */
export async function openNotices(
  infrastructure: Infrastructure,
  { registry }: Pick<ToolServices, 'registry'>,
  { push: config, pageUrl, nameOf, stack, ...options }: NoticeOptions,
): Promise<NoticeParts> {
  const { clock, store, events, auth } = infrastructure;
  const logger = infrastructure.logger.child({ module: 'notices' });
  const fetch = lazyFetch(config.allowedHosts, PUSH_HOSTS_SETTING);
  const { people } = auth;
  const push = new WebPush({ clock, logger, store, fetch, key: auth.key.pushKey, people, pageUrl }, config);
  const reach = withPush(push, options.reach);
  const settings = new NoticeSettings({ store, reach });
  const notices = new NoticeStore({ clock, store, events });
  const personsFor = (kind: NoticeKind) => (kind === 'approval' ? approversIn(auth.approvers) : adultsIn(people, auth.time.now()));
  const outbox = new NoticeOutbox({ clock, time: auth.time, store, logger, reach, personsFor, pageUrl });
  const publisher = new NoticePublisher({ clock, logger, notices, settings, outbox, personsFor });
  const messages = new MessageNotices({ clock, notices, publisher, personsFor, nameOf });
  const questions = new QuestionStore({ clock, store, events, notices, publisher, personsFor, nameOf });
  const tools = [
    ...noticeTools({ people, notices, choices: settings, browsers: push, authorizer: auth.authorizer }),
    ...questionTools({ messages, questions, people }),
  ];
  for (const tool of tools) registry.register(tool);
  notices.load();
  const preferences: PersonalStore = {
    // Keys of preferences do not tell persons from agents, so at a start these are deleted only with what other stores still have.
    persons: () => [],
    removePerson: (name) => removePagePreferences(store, agentNameOf({ name })),
  };
  const removed = new RemovedPersons({ people, stores: [outbox, notices, settings, questions, push, preferences] });
  for (const service of [outbox, messages, questions, removed]) await stack.start(service);
  return { notices, publisher, questions, outbox };
}

/** Registers the tool for the version of the hub, and starts what publishes notices about the devices, the agents and the hub. */
export async function openNoticeSources(
  infrastructure: Infrastructure,
  { registry, tools, meshProxy }: Pick<ToolServices, 'registry' | 'tools' | 'meshProxy'>,
  { notices, publisher, stack, ...options }: Pick<NoticeParts, 'notices' | 'publisher'> & NoticeSourceOptions,
): Promise<void> {
  const { clock, store, events, auth } = infrastructure;
  const logger = infrastructure.logger.child({ module: 'notices' });
  const { people } = auth;
  const { version: running, versionUrl: url, upgradeDir } = options;
  const versions = await openVersions(infrastructure, { registry, stack, running, url, upgradeDir });
  const hubName = (id: string) => uniqueName(id, meshProxy.view.peers(), options.ownName);
  await stack.start(new ApprovalNotices({ clock, store, logger, events, approvals: auth.approvals, notices, publisher, hubName }));
  await stack.start(
    new DeviceNotices({ clock, events, readings: infrastructure.readings, directory: infrastructure.directory, publisher }),
  );
  await stack.start(new AgentNotices({ clock, time: auth.time, events, publisher, agents: () => options.agents().map(noticedAgent) }));
  const open = () => options.proposals().map((proposal) => noticedProposal(proposal, options.agents(), auth));
  await stack.start(new ProposalNotices({ clock, events, publisher, open }));
  await stack.start(
    new ToolNotices({
      clock,
      events,
      publisher,
      titleOf: (id) => titleOf(tools.get(id), infrastructure.directory),
      personCalled: (id) => people.list().find((person) => person.name === id || agentNameOf(person) === id),
    }),
  );
  await stack.start(
    new HubNotices({
      clock,
      time: auth.time,
      logger,
      publisher,
      tokens: auth.tokens,
      agentTokens: () => new Set(options.agents().map(({ tokenId }) => tokenId)),
      certificates: () => endingCertificates(infrastructure, options.certificate()),
      problems: infrastructure.problems,
      updates: () => offeredUpdates(infrastructure),
      newerHub: () => versions.newer()?.version,
      wentBack: () => versions.wentBack(),
      freeBytes: () => freeBytes(options.stateDir),
    }),
  );
}

interface VersionOptions extends Pick<ToolServices, 'registry'>, Pick<NoticeSourceOptions, 'stack'> {
  readonly running: string;
  readonly url: string | undefined;
  readonly upgradeDir: string | undefined;
}

/** Registers the tool for the version of the hub, and starts to look for newer ones. The owner's own host may be in a private network. */
async function openVersions(
  { clock, store, problems, logger: parent }: Infrastructure,
  { registry, stack, running, url, upgradeDir }: VersionOptions,
): Promise<VersionCheck> {
  const logger = parent.child({ module: 'updates' });
  const fetch = lazyFetch(url === undefined ? [] : [hostEntry(url)], 'updates.version_url');
  const upgrade = () => (upgradeDir === undefined ? undefined : readUpgradeRecord(upgradeDir));
  const versions = new VersionCheck({ clock, store, logger, fetch, upgrade, problems }, { running, url });
  registry.register(versionTool(versions));
  await stack.start(versions);
  return versions;
}

/** Returns the ways of persons: first their browsers, then what the owner configured. */
function withPush(push: WebPush, others: PeopleReach): PeopleReach {
  return {
    waysOf: (person, urgency) => [...push.waysOf(person), ...others.waysOf(person, urgency)],
    send: (address, message, signal) => (push.isAddress(address) ? push : others).send(address, message, signal),
  };
}

type Approvers = Pick<Infrastructure['auth']['approvers'], 'list'>;

function approversIn(approvers: Approvers): readonly string[] {
  return [...new Set(approvers.list().map(({ person }) => person))];
}

/** Returns the names of the owner and of the adults who belong to the household now. */
function adultsIn(people: Pick<PeopleDirectory, 'list'>, nowMs: number): readonly string[] {
  const adults = people.list().filter(({ role }) => role === 'owner' || role === 'adult');
  return adults.filter(({ limits: { untilMs = Number.POSITIVE_INFINITY } }) => nowMs < untilMs).map(({ name }) => name);
}

/** Returns a proposal with those who may accept it: they have all its permissions, and may edit what it would replace. */
function noticedProposal(
  { by, name, permissions, replaces }: Proposal,
  agents: readonly AgentRecord[],
  { people, time }: Pick<Infrastructure['auth'], 'people' | 'time'>,
): NoticedProposal {
  const nowMs = time.now();
  const replaced = replaces && agents.find(({ id }) => id === replaces.id);
  const mayEdit = (person: Person, { parent }: AgentRecord) =>
    parent === agentNameOf(person) || (parent === undefined && holdersOf([person], ['admin:agents'], nowMs).length > 0);
  const holders = holdersOf(people.list(), ['agent:spawn', ...permissions], nowMs);
  return { by, name, persons: holders.filter((person) => !replaced || mayEdit(person, replaced)).map((person) => person.name) };
}

/** Returns what people call a tool: its title, and the device if it is the tool of one. */
function titleOf(tool: RegisteredTool | undefined, directory: Pick<DeviceDirectory, 'list'>): string | undefined {
  if (!tool) return undefined;
  const { title, device: id } = tool.definition.metadata;
  const device = directory.list().find((one) => one.id === id);
  if (!device) return title;
  return `${title}: ${device.name}${device.area === undefined ? '' : ` (${device.area})`}`;
}

/** Returns an agent as notices know it. An automation that renews its token itself has no end. */
function noticedAgent({ expiresAtMs, renewsItself, ...record }: AgentRecord): NoticedAgent {
  return { ...record, ...(renewsItself !== true && { expiresAtMs }) };
}

function endingCertificates({ auth }: Infrastructure, page: CertificateFacts | undefined): readonly EndingCertificate[] {
  const member = auth.membership.membership.own();
  return [...(page ? endOfPage(page) : []), ...(member ? [{ of: 'mesh' as const, endsAtMs: member.expiresAtMs }] : [])];
}

/** Returns the certificate of the hub's name if there is one, else that of its authority, else the one that the owner gave. */
function endOfPage({ source, certificateEndsAtMs, authority, problem }: CertificateFacts): readonly EndingCertificate[] {
  const failed = problem === undefined ? {} : { problem };
  if (source === 'acme') return [{ of: 'name', endsAtMs: certificateEndsAtMs, ...failed }];
  return [authority ? { of: 'authority', endsAtMs: authority.endsAtMs, ...failed } : { of: 'page', endsAtMs: certificateEndsAtMs }];
}

async function offeredUpdates({ matter }: Infrastructure): Promise<readonly OfferedUpdate[]> {
  if (!matter) return [];
  const { offers } = await matter.administration.updates();
  return offers.map(({ device, name, to }) => ({ device, name, version: to.text || String(to.number) }));
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
