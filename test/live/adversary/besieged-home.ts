import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { rawKeyOf } from '../../../src/cli/identity/approver-key.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import type { AuditRow } from '../../../src/core/storage/audit-log.ts';
import type { VirtualDevice } from '../../home/virtual-device.ts';
import { VirtualHome } from '../../home/virtual-home.ts';
import { until } from '../../matter/device-hub.ts';
import { EventTap } from '../every-tool/event-tap.ts';
import { RunningHub } from '../running-hub.ts';
import { type Arms, forge } from './arms.ts';
import { Attacker } from './attacker.ts';
import { homeSpec, preyIn, stateOf } from './besieged-house.ts';
import type { Target } from './target.ts';

export const ATTACKER_ID = 'lamp-helper';
/** Everything that the attacked agent was given: one light, and the tools to make something of it. */
const RIGHTS = ['device:control:desk-lamp', 'device:read:desk-lamp', 'sequence:run', 'agent:spawn', 'job:cancel'];
export const SECOND_PERSON = 'winifred';
const RULES = `rules:
  - { name: curfew at the door, effect: approve, persons: 2, when: { device: saffron-portal, action: DoorLock/UnlockDoor } }
  - { name: bright lamp, effect: approve, when: { agent: ${ATTACKER_ID}, device: desk-lamp, action: LevelControl/*, value: { name: brightness, above: 95 } } }
`;
const SENSOR = 'periwinkle-weathervane/temperature';

/** A home with five devices, its owner, others who use it, and an agent that was given one light and turned bad. */
export class BesiegedHome implements AsyncDisposable {
  readonly hub: RunningHub;
  readonly stateDir: string;
  readonly target: Target;
  readonly attacker: Attacker;
  /** The second person's. */
  readonly approverKey: KeyObject;
  /** Texts that must stand nowhere but in the hands of those who were given them. */
  readonly tokens: string[];
  readonly events: EventTap;
  readonly #home: VirtualHome;
  readonly #dir: string;
  #stirs = 0;

  private constructor(parts: Besieged) {
    this.hub = parts.hub;
    this.stateDir = join(parts.dir, 'state');
    this.target = parts.target;
    this.attacker = parts.attacker;
    this.approverKey = parts.approverKey;
    this.tokens = [...parts.tokens];
    this.events = parts.events;
    this.#home = parts.home;
    this.#dir = parts.dir;
  }

  static async start(): Promise<BesiegedHome> {
    const dir = mkdtempSync(join(tmpdir(), 'besieged-'));
    const stateDir = join(dir, 'state');
    mkdirSync(stateDir, { mode: 0o700 });
    writeFileSync(join(stateDir, 'rules.yaml'), RULES, { mode: 0o600 });
    const [home, hub] = await Promise.all([
      VirtualHome.start({ spec: homeSpec(), dir: join(dir, 'home') }),
      RunningHub.start({ stateDir, env: { ATMO_LOG: 'debug' } }),
    ]);
    const events = await EventTap.open(hub);
    await Promise.all(home.devices.map((device) => commission(hub, device)));
    await until(async () => (await hub.call('query_sensor', { sensor_id: SENSOR })).status === 'success');
    const { approverKey, target, tokens, arms } = await furnish({ hub, home, events, stateDir });
    const attacker = new Attacker({ url: hub.url, token: tokens[0] ?? '', arms });
    return new BesiegedHome({ hub, home, events, dir, target, attacker, approverKey, tokens });
  }

  get lamp(): VirtualDevice {
    return this.#home.device('Desk lamp');
  }

  get lock(): VirtualDevice {
    return this.#home.device('Saffron portal');
  }

  get setupCodes(): readonly string[] {
    return this.#home.devices.flatMap(({ pairing }) => [pairing.qrCode, pairing.manualCode, String(pairing.passcode)]);
  }

  /** What the devices of others say in their own processes, and every command that ever reached them. */
  async othersState(): Promise<string> {
    const others = this.#home.devices.filter((device) => device !== this.lamp);
    const states = await Promise.all(others.map(stateOf));
    return inspect(states, { depth: 9 });
  }

  /** What the owner sees of everything that is not the attacker's. */
  async administration(): Promise<JsonObject> {
    const { hub } = this;
    const [devices, approvers, rules, groups, agents, tokens] = await Promise.all([
      hub.get('/api/v1/devices'),
      hub.get('/api/v1/approvers'),
      hub.get('/api/v1/rules'),
      hub.result('hub:list_groups'),
      hub.result('list_agents'),
      hub.get('/api/v1/tokens'),
    ]);
    const listOf = (value: unknown, key: string) => ((value as JsonObject)[key] ?? []) as readonly JsonObject[];
    return {
      devices: listOf(devices, 'devices').map(({ id, name, area, tools }) => ({ id, name, area, tools }) as JsonObject),
      approvers: approvers as JsonObject,
      rules: rules as JsonObject,
      groups,
      agents: listOf(agents, 'agents').filter(({ agent_id: id }) => !isKin(id)),
      tokens: listOf(tokens, 'tokens').filter(({ agent_id: id, state }) => !isKin(id) && state === 'valid'),
    };
  }

  /** The permissions of every token that the attacker or its children ever got. */
  async grownRights(): Promise<readonly string[]> {
    const { tokens } = (await this.hub.get('/api/v1/tokens')) as unknown as {
      tokens: readonly { agent_id: string; permissions: string[] }[];
    };
    const granted = tokens.filter(({ agent_id: id }) => isKin(id)).flatMap(({ permissions }) => permissions);
    return [...new Set(granted)].filter((permission) => !RIGHTS.includes(permission));
  }

  /** One more token, from the owner. */
  async mint(
    agent: string,
    permissions: readonly string[],
    more: JsonObject = {},
  ): Promise<{ readonly token: string; readonly id: string }> {
    const minted = await this.hub.result('hub:mint_token', { agent_id: agent, permissions, rate_per_minute: 1_000_000, ...more });
    const token = String(minted.token);
    this.tokens.push(token);
    return { token, id: String(minted.token_id) };
  }

  /** Every row of the journal that fits, newest first. */
  async journal(filter: JsonObject = {}): Promise<readonly AuditRow[]> {
    const rows: AuditRow[] = [];
    for (let before: Json | undefined; ; ) {
      const page = await this.hub.result('hub:read_audit', { ...filter, limit: 1_000, ...(before !== undefined && { before }) });
      rows.push(...(page.rows as unknown as AuditRow[]));
      before = page.next_before;
      if (before === undefined) return rows;
    }
  }

  /** Somebody else uses the house: a reading changes, tools are called, a token is made and revoked. */
  async stir(): Promise<void> {
    this.#stirs += 1;
    await this.#home.device('Periwinkle weathervane').set(1, 'TemperatureMeasurement', 'MeasuredValue', 2_000 + this.#stirs);
    await this.hub.result('query_sensor', { sensor_id: SENSOR });
    // The owner too has a bound of open requests, which other tests need.
    if (this.#stirs <= 4) await this.hub.call('matter:saffron_portal_unlock', { pin: `${1_000 + this.#stirs}` }, { approve: false });
    const { token_id: id } = await this.hub.result('hub:mint_token', { agent_id: 'quartermaster', permissions: ['sensor:read:*'] });
    await this.hub.result('hub:revoke_token', { token_id: id ?? '' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.events[Symbol.asyncDispose]();
    await this.hub[Symbol.asyncDispose]();
    await this.#home[Symbol.asyncDispose]();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

interface Besieged {
  readonly hub: RunningHub;
  readonly home: VirtualHome;
  readonly events: EventTap;
  readonly dir: string;
  readonly target: Target;
  readonly attacker: Attacker;
  readonly approverKey: KeyObject;
  readonly tokens: readonly string[];
}

interface Ground {
  readonly hub: RunningHub;
  readonly home: VirtualHome;
  readonly events: EventTap;
  readonly stateDir: string;
}

interface Furnished {
  readonly approverKey: KeyObject;
  readonly target: Target;
  /** The attacker's first. */
  readonly tokens: readonly string[];
  readonly arms: Arms;
}

/** Everything that others have here, and what the attacker could lay hands on. */
async function furnish({ hub, home, events, stateDir }: Ground): Promise<Furnished> {
  const mint = async (agent: string, permissions: readonly string[], more: JsonObject = {}) =>
    hub.result('hub:mint_token', { agent_id: agent, permissions, ttl_seconds: 3_600, rate_per_minute: 1_000_000, ...more });
  const own = await mint(ATTACKER_ID, RIGHTS);
  const foreign = await mint('purser', ['sensor:read:*']);
  const revoked = await mint('lamp-helper-of-old', RIGHTS);
  await hub.result('hub:revoke_token', { token_id: revoked.token_id ?? '' });
  const boundKey = newKey();
  const bound = await mint('lamp-holder', RIGHTS, { key: rawKeyOf(boundKey) });

  const approverKey = newKey();
  const enrolled = await hub.result('hub:enroll_approver', { person: SECOND_PERSON, key: rawKeyOf(approverKey), label: 'phone' });
  const spawned = await hub.result('spawn_agent', {
    agent_type: 'automation',
    name: 'quartermaster',
    permissions: [`sensor:read:${SENSOR}`, 'device:control:marigold-beacon'],
    config: {
      parameters: { limit: { value: 60, minimum: 0, maximum: 90 } },
      trigger: { type: 'reading', sensor_id: SENSOR, above: { param: 'limit' } },
      actions: [{ tool: 'matter:marigold_beacon_turn_on' }],
    },
  });
  const group = await hub.result('hub:create_group', { name: 'Nightfall', members: [{ device_id: 'marigold-beacon', endpoint: 1 }] });
  const job = await hub.call('sequence', { steps: [{ tool: 'query_sensor', params: { sensor_id: SENSOR } }] }, { query: '?async=true' });
  const idempotencyKey = 'c0ffee00-1111-4222-8333-944445555666';
  await hub.call('query_sensor', { sensor_id: SENSOR }, { headers: { 'idempotency-key': idempotencyKey } });
  const asked = await hub.call('matter:saffron_portal_unlock', { pin: '5555' }, { approve: false });
  await until(() => events.events.some(({ type }) => type === 'approval.requested'));
  const overheard = events.events.findLast(({ type }) => type === 'approval.requested');

  const [lock, beacon, climate, gauge] = preyIn(home);
  const target: Target = {
    lock,
    beacon,
    climate,
    gauge,
    sensor: SENSOR,
    agent: String(spawned.agent_id),
    token: String(foreign.token_id),
    job: String((job as unknown as { job_id: string }).job_id),
    approval: asked.status === 'error' ? String(asked.error.details.approval_id) : '',
    person: SECOND_PERSON,
    rule: 'curfew at the door',
    group: Number(group.id),
    idempotencyKey,
    request: asked.request_id,
    event: overheard?.id ?? '',
    keyId: String(enrolled.key_id),
  };
  const texts = [own, foreign, revoked, bound].map(({ token }) => String(token));
  const [ownText = '', foreignText = '', revokedText = '', boundText = ''] = texts;
  const arms = forge({ own: ownText, foreign: foreignText, revoked: revokedText, bound: boundText, boundKey, stateDir });
  return { approverKey, target, tokens: texts, arms };
}

async function commission(hub: RunningHub, { name, spec, pairing }: VirtualDevice): Promise<void> {
  await hub.result('hub:commission_device', { code: pairing.qrCode, name, area: spec.area, accept_attestation: true });
}

function newKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey;
}

/** The attacker, what it spawned, and what it took the name of. */
function isKin(agentId: unknown): boolean {
  return agentId === ATTACKER_ID || String(agentId).startsWith(`${ATTACKER_ID}/`);
}
