import { describe, expect, test } from 'vitest';
import type { TokenRecord } from '../../src/core/auth/principal.ts';
import { BACKUP_OVERDUE, HubProblems } from '../../src/core/health.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { AgentNotices, type NoticedAgent } from '../../src/notices/agent-notices.ts';
import { type EndingCertificate, HubNotices, type OfferedUpdate } from '../../src/notices/hub-notices.ts';
import { type NoticedProposal, ProposalNotices } from '../../src/notices/proposal-notices.ts';
import { ToolNotices } from '../../src/notices/tool-notices.ts';
import { household } from './notices-fixture.ts';

const DAY_MS = 86_400_000;
const MIB = 1_048_576;

/** What ann was told, each message as its kind and text. */
const toldOf = ({ sent }: Awaited<ReturnType<typeof household>>) =>
  sent.filter(({ recipient }) => recipient === 'ann').map(({ kind, message }) => `${kind}: ${message}`);

async function hub() {
  const parts = await household({ personsFor: () => ['ann'] });
  const { clock, publisher } = parts;
  const state = {
    tokens: [] as TokenRecord[],
    agentTokens: new Set<string>(),
    certificates: [] as EndingCertificate[],
    updates: [] as OfferedUpdate[],
    newerHub: undefined as string | undefined,
    wentBack: undefined as { readonly version: string; readonly isPossible: boolean } | undefined,
    freeBytes: 4_096 * MIB,
  };
  const problems = new HubProblems();
  const notices = new HubNotices({
    clock,
    time: clock,
    logger: silentLogger,
    publisher,
    problems,
    tokens: { list: () => state.tokens },
    agentTokens: () => state.agentTokens,
    certificates: () => state.certificates,
    updates: async () => state.updates,
    newerHub: () => state.newerHub,
    wentBack: () => state.wentBack,
    freeBytes: async () => state.freeBytes,
  });
  const check = async () => {
    await notices.check();
    await parts.pass(0);
  };
  const token = (id: string, agentId: string, days: number, agoDays = 0): TokenRecord => {
    const issuedAtMs = clock.now() - agoDays * DAY_MS;
    return { id, agentId, permissions: [], issuedAtMs, expiresAtMs: issuedAtMs + days * DAY_MS, issuedBy: 'owner:owner' };
  };
  return { ...parts, state, problems, check, token, told: () => toldOf(parts), hubNotices: notices };
}

describe('the hub tells', () => {
  test('of a token in its last days, but not of one that is short, replaced, given by an agent or held by an agent of the hub', async () => {
    const { state, check, token, told } = await hub();
    state.tokens = [
      token('1', 'claude', 30, 24),
      token('2', 'short', 1, 0.9),
      token('3', 'replaced', 30, 24),
      token('4', 'replaced', 30, 0),
      { ...token('5', 'claude/child', 30, 24), parent: '1' },
      token('6', 'night-watch', 30, 24),
      { ...token('7', 'gone', 30, 24), revokedAtMs: 1 },
      token('8', 'early', 30, 20),
    ];
    state.agentTokens = new Set(['6']);
    await check();
    await check();
    expect(told()).toEqual([expect.stringMatching(/^token: The token of claude ends on \d+ January 2026\. Make a new one/)]);
  });

  test('at once of a certificate that could not be renewed, and again only after it could', async () => {
    const { state, check, told, clock } = await hub();
    const page = { of: 'name' as const, endsAtMs: clock.now() + 29 * DAY_MS };
    const problem = 'The certificate for hub.example.org could not be renewed: no such zone';
    state.certificates = [{ ...page, problem }];
    await check();
    await check();
    const text = `certificate: ${problem}. The hub tries again by itself, and at once after a restart.`;
    expect(told()).toEqual([text]);
    state.certificates = [page];
    await check();
    state.certificates = [{ ...page, problem }];
    await check();
    expect(told()).toEqual([text, text]);
  });

  test('of a certificate fourteen days before its end, until it is renewed', async () => {
    const { state, check, told, clock, publisher } = await hub();
    state.certificates = [{ of: 'page', endsAtMs: clock.now() + 15 * DAY_MS }];
    await check();
    expect(told()).toEqual([]);
    state.certificates = [{ of: 'page', endsAtMs: clock.now() + 13 * DAY_MS }];
    await check();
    expect(told()).toEqual([
      expect.stringMatching(
        /^certificate: The certificate of the page ends on 1[345] January 2026\. Put a new one in the place of its files\.$/,
      ),
    ]);
    state.certificates = [];
    await check();
    expect(publisher.openAtMs('certificate/page')).toBeUndefined();
  });

  test('of a newer version of the hub, until it runs', async () => {
    const { state, check, told, notices } = await hub();
    state.newerHub = '0.2.0';
    await check();
    await check();
    expect(told()).toEqual(['update: Version 0.2.0 of the hub can be installed.']);
    state.newerHub = undefined;
    await check();
    expect(notices.open('update')).toEqual([]);
  });

  test('of an upgrade of the hub that was not kept, until the next one', async () => {
    const { state, check, told, notices } = await hub();
    state.wentBack = { version: '0.2.0', isPossible: true };
    await check();
    await check();
    expect(told()).toEqual(['update: Version 0.2.0 of the hub did not come up, or was not wanted. The version before runs again.']);
    state.wentBack = { version: '0.3.0', isPossible: false };
    await check();
    expect(told()[1]).toContain('Version 0.3.0 of the hub did not come up at first, and there was no way back');
    expect(notices.open('update')).toHaveLength(1);
  });

  test('of an overdue backup, of each update, and of a disk that is nearly full until there is room again', async () => {
    const { state, check, told, problems } = await hub();
    problems.raise(BACKUP_OVERDUE, 'The last backup is 12 days old');
    state.updates = [{ device: 'lamp', name: 'Lamp', version: '1.1' }];
    state.freeBytes = 400 * MIB;
    await check();
    expect(told().sort()).toEqual([
      'backup: The last backup is 12 days old',
      expect.stringMatching(/^disk: Only 400 MiB are free/),
      'update: Version 1.1 can be installed on Lamp.',
    ]);
    problems.clear(BACKUP_OVERDUE);
    state.updates = [{ device: 'lamp', name: 'Lamp', version: '1.2' }];
    state.freeBytes = 600 * MIB;
    await check();
    state.freeBytes = 500 * MIB;
    await check();
    problems.raise(BACKUP_OVERDUE, 'The last backup is 20 days old');
    state.freeBytes = 900 * MIB;
    await check();
    state.freeBytes = 100 * MIB;
    await check();
    expect(told().filter((text) => text.startsWith('disk'))).toHaveLength(2);
    expect(told()).toHaveLength(6);
  });

  test('by itself soon after its start, and a check that fails does not keep the others', async () => {
    const { state, hubNotices, pass, told } = await hub();
    state.freeBytes = 100 * MIB;
    state.tokens = null as unknown as TokenRecord[];
    await hubNotices.start();
    await pass(30_000);
    await pass(0);
    await hubNotices[Symbol.asyncDispose]();
    expect(told()).toEqual([expect.stringMatching(/^disk/)]);
  });
});

describe('of agents the hub tells', () => {
  async function agents() {
    const parts = await household({ personsFor: () => ['ann'] });
    const known = new Map<string, NoticedAgent>();
    const { clock, events, publisher } = parts;
    const notices = new AgentNotices({ clock, time: clock, events, publisher, agents: () => [...known.values()] });
    await notices.start();
    const become = async (change: Partial<NoticedAgent>) => {
      const id = change.id ?? 'night-watch';
      const before = known.get(id) ?? { id, type: 'automation', name: id, status: 'active', createdAtMs: clock.now(), failures: 0 };
      known.set(id, { ...before, ...change });
      events.emit('agent.changed', id, {});
      await parts.pass(0);
    };
    return { ...parts, become, told: () => toldOf(parts) };
  }

  test('that an automation failed, once until it works again', async () => {
    const { become, told } = await agents();
    await become({});
    const lastError = { message: 'Lamp did not answer.' };
    await become({ failures: 1, lastError });
    await become({ failures: 2, lastError });
    await become({ failures: 3, status: 'failing', lastError });
    await become({ failures: 0, status: 'active' });
    await become({ failures: 1, lastError });
    const text = 'automation: The automation night-watch failed: Lamp did not answer.';
    expect(told()).toEqual([text, text]);
  });

  test('that one stopped, unless a person ended it or an agent made it', async () => {
    const { become, told } = await agents();
    await become({ status: 'expired', ended: { cause: 'lifetime_over' } });
    await become({ id: 'helper', type: 'external', status: 'killed', ended: { cause: 'token_revoked' } });
    await become({ id: 'old', status: 'killed', ended: { by: 'owner' } });
    await become({ id: 'long-ago', status: 'expired' });
    await become({ id: 'claude/child', parent: 'claude', status: 'expired' });
    expect(told()).toEqual([
      'automation: The automation night-watch has stopped: its time is over.',
      'agent: The agent helper has stopped: its token, or one that it comes from, was revoked.',
    ]);
  });

  test('why one stopped, in the language of the person', async () => {
    const { become, told, settings } = await agents();
    settings.setLanguage('ann', 'de', 'person');
    await become({ status: 'expired', ended: { cause: 'lifetime_over' } });
    await become({ id: 'helper', type: 'external', status: 'killed', ended: { cause: 'token_revoked' } });
    await become({ id: 'guard', type: 'external', status: 'killed', ended: { cause: 'token_invalid' } });
    expect(told()).toEqual([
      'automation: Die Automation night-watch läuft nicht mehr: Die Zeit ist um.',
      'agent: Der Agent helper läuft nicht mehr: Das Token oder eines, von dem es stammt, wurde widerrufen.',
      'agent: Der Agent guard läuft nicht mehr: Das Token gilt nicht mehr.',
    ]);
  });

  test('that an automation is about to end, but not one without an end', async () => {
    const { become, told, clock, pass } = await agents();
    await become({ expiresAtMs: clock.now() + 30 * DAY_MS });
    await become({ id: 'endless' });
    await pass(22 * DAY_MS);
    expect(told()).toEqual([]);
    for (let hours = 0; hours < 26; hours++) await pass(DAY_MS / 24);
    expect(told()).toEqual([expect.stringMatching(/^automation: The automation night-watch ends on \d+ (January|February) 2026\.$/)]);
  });
});

test('that an automation of an agent ends within a week, unless it never lived longer, and nothing else of it', async () => {
  const parts = await household({ personsFor: () => ['ann'] });
  const { clock, events, publisher } = parts;
  const common = { type: 'automation', status: 'active', parent: 'claude', createdAtMs: clock.now(), failures: 3 } as const;
  const agents: readonly NoticedAgent[] = [
    { ...common, id: 'claude/long', name: 'long', failures: 0, expiresAtMs: clock.now() + 30 * DAY_MS },
    { ...common, id: 'claude/short', name: 'short', failures: 0, expiresAtMs: clock.now() + DAY_MS },
    { ...common, id: 'claude/failing', name: 'failing', expiresAtMs: clock.now() + 30 * DAY_MS },
  ];
  const notices = new AgentNotices({ clock, time: clock, events, publisher, agents: () => agents });
  await notices.start();
  await parts.pass(23.1 * DAY_MS);
  await parts.pass(0);
  expect(toldOf(parts)).toEqual([expect.stringMatching(/^automation: The automation long ends on/)]);
  await notices[Symbol.asyncDispose]();
});

describe('of a use of a tool that asks for it', () => {
  async function tools() {
    const parts = await household();
    const { clock, events, publisher } = parts;
    const titleOf = (id: string) => (id === 'door_unlock' ? 'Unlock Front door' : undefined);
    const personCalled = (id: string) => (id === 'ann' ? { name: 'ann', title: 'Ann' } : undefined);
    const notices = new ToolNotices({ clock, events, publisher, titleOf, personCalled });
    await notices.start();
    const used = async (agentId: string, data: { readonly notify_admins?: boolean } = { notify_admins: true }) => {
      events.emit('agi.tool.result', 'door_unlock', { agent_id: agentId, ...data });
      await parts.pass(0);
    };
    return { ...parts, used };
  }

  test('everybody is told but the person who used it; other uses are not told', async () => {
    const { used, sent } = await tools();
    await used('claude', {});
    await used('ann');
    expect(sent).toMatchObject([{ recipient: 'bob', message: expect.stringMatching(/^Ann used /) }]);
    await used('claude');
    expect(sent.map(({ recipient, message }) => [recipient, message]).slice(1)).toEqual([
      ['ann', expect.stringMatching(/^claude used Unlock Front door at \d\d:\d\d\.$/)],
      ['bob', expect.stringMatching(/^claude used Unlock Front door at \d\d:\d\d\.$/)],
    ]);
  });

  test('many uses are one notice in ten minutes, which is over after a day', async () => {
    const { used, sent, pass, publisher } = await tools();
    for (let count = 0; count < 5; count++) await used('claude');
    expect(sent).toHaveLength(2);
    await pass(600_000);
    await used('claude');
    expect(sent).toHaveLength(4);
    await pass(25 * 3_600_000);
    expect(publisher.openAtMs('tool/claude/door_unlock')).toBeUndefined();
  });
});

test('an agent that proposes automations is told of once, until none of its proposals waits, with its words marked as its own', async () => {
  const parts = await household({ personsFor: () => ['ann'] });
  const { clock, events, publisher } = parts;
  let open: NoticedProposal[] = [];
  const notices = new ProposalNotices({ clock, events, publisher, open: () => open });
  await notices.start();
  const change = async (proposals: NoticedProposal[]) => {
    open = proposals;
    events.emit('proposal.changed', 'p');
    await parts.pass(0);
  };
  const persons = ['ann'];
  const first = { by: 'assistant', name: 'Cool "evening" <b>now</b>', persons };
  await change([first]);
  await change([{ by: 'assistant/helper', name: 'Another', persons }, first]);
  expect(toldOf(parts)).toEqual([
    'proposal: assistant proposes the automation "Cool evening bnow/b". It runs only once somebody accepts it.',
  ]);
  await change([]);
  await change([{ by: 'assistant/helper', name: 'Another', persons }]);
  expect(toldOf(parts)).toHaveLength(2);
  await notices[Symbol.asyncDispose]();
});

test('only those who may accept a proposal are told of it, each once for an agent', async () => {
  const parts = await household({ personsFor: () => ['ann', 'ben'] });
  const { clock, events, publisher } = parts;
  let open: NoticedProposal[] = [];
  const notices = new ProposalNotices({ clock, events, publisher, open: () => open });
  await notices.start();
  const change = async (proposals: NoticedProposal[]) => {
    open = proposals;
    events.emit('proposal.changed', 'p');
    await parts.pass(0);
  };
  const lamps = { by: 'assistant', name: 'Lamps', persons: ['ann', 'ben'] };
  const door = { by: 'assistant/helper', name: 'Door', persons: ['ann'] };
  await change([door]);
  expect(parts.notices.recent('ben')).toEqual([]);
  expect(parts.notices.recent('ann')).toHaveLength(1);
  await change([lamps, door]);
  expect([parts.notices.recent('ann'), parts.notices.recent('ben')].map(({ length }) => length)).toEqual([1, 1]);
  await change([door]);
  expect(publisher.openAtMs('proposal/assistant/ben')).toBeUndefined();
  expect(publisher.openAtMs('proposal/assistant/ann')).toBeDefined();
  await notices[Symbol.asyncDispose]();
});
