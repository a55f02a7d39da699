import { isJsonObject, type JsonObject } from '../../src/core/json.ts';
import type { DemoHub, DemoWorld, Step } from './demo-world.ts';
import { ensure, until } from './proof.ts';

const LAMP = { device: 'Living room lamp', endpoint: 1, cluster: 'onOff', attribute: 'onOff' } as const;
const TURN_ON = 'living_room_lamp_turn_on';
const SENTENCE = 'switch on the light in the living room';

/** Two hubs that act as one. */
export const MESH_STEPS: readonly Step[] = [
  { title: 'Let a second hub join', run: joinHubs },
  { title: 'Switch the light from the hub that has none', run: switchFromAfar },
];

async function joinHubs({ hub, second, terminal, say }: DemoWorld): Promise<void> {
  say(`$ atmo mesh create   →  ${await terminal.atmo('mesh', 'create')}`);
  const shown = await terminal.atmo('mesh', 'invite');
  const invite = /atmo-join1\.\S+/.exec(shown)?.[0] ?? '';
  ensure(invite !== '', `atmo mesh invite printed no invite: ${shown}`);
  say(`$ atmo mesh invite   →  ${invite.slice(0, 28)}…`);
  await second.terminal.atmo('mesh', 'join', invite);
  say('$ atmo mesh join …   at the other hub');
  await until(async () => (await peerIn(second.hub))?.reachable === true && (await peerIn(hub))?.reachable === true, 'the hubs to meet');
  for (const line of (await second.terminal.atmo('mesh', 'peers')).split('\n')) say(line);
}

async function switchFromAfar(world: DemoWorld): Promise<void> {
  const { hub, home, second, say } = world;
  await home.set(LAMP, false);
  await until(
    async () => (await second.terminal.atmo('tools', '--search', SENTENCE)).includes(TURN_ON),
    'the light to be found by a sentence',
  );
  say(`$ atmo tools --search '${SENTENCE}'   finds ${TURN_ON}`);
  ensure((await home.get(LAMP)) === false, 'The lamp is on already; the call would prove nothing');
  const journals = { annex: second.hub, house: hub };
  const before = { annex: await lastIntent(second.hub), house: await lastIntent(hub) };
  say(`$ atmo call ${TURN_ON}   at the hub that has no devices`);
  for (const line of (await second.terminal.atmo('call', TURN_ON)).split('\n')) say(line);
  await until(async () => (await home.get(LAMP)) === true, 'the lamp to be on');
  say('the lamp itself holds onOff.onOff = true');
  for (const name of ['annex', 'house'] as const) {
    const row = await lastIntent(journals[name]);
    ensure(Number(row.seq) > Number(before[name].seq ?? 0), `The journal of ${name} does not have the call`);
    say(`journal of ${name}, row ${row.seq}: ${row.agent} called ${row.tool}`);
  }
  const { agent } = await lastIntent(hub);
  ensure(String(agent).startsWith('owner@hub-'), `The journal of the light's hub does not say from where it was called: ${agent}`);
}

async function peerIn(hub: DemoHub): Promise<JsonObject | undefined> {
  const { peers } = await hub.get('/api/v1/mesh');
  return Array.isArray(peers) ? peers.find(isJsonObject) : undefined;
}

/** The newest call of the light in a journal. */
async function lastIntent(hub: DemoHub): Promise<JsonObject> {
  const { rows } = await hub.get('/api/v1/audit?kind=intent&limit=1000');
  const calls = Array.isArray(rows) ? rows.filter(isJsonObject).filter((row) => String(row.tool).includes(TURN_ON)) : [];
  return calls.toSorted((a, b) => Number(a.seq) - Number(b.seq)).at(-1) ?? {};
}
