import type { JsonObject } from '../../../src/core/json.ts';
import { PageWorld } from './page-world.ts';

const DEVICES = [
  ...['Living room lamp', 'Hall light', 'Bedroom lamp', 'Thermostat', 'Front door'],
  ...['Bedroom blind', 'Garden thermometer', 'Kitchen window', 'Robot', 'Speaker'],
];
const FLOORS: Readonly<Record<string, readonly string[]>> = {
  'Ground floor': ['Living room', 'Hall', 'Kitchen'],
  Upstairs: ['Bedroom'],
};
const PASSPHRASE = 'correct horse battery staple';
const CHILD_ROOMS = ['living-room', 'bedroom', 'kitchen'];

/** A home in which every page has something to show: rooms on floors, a scene, an automation, agents, people and requests that wait. */
export async function furnishedWorld(): Promise<PageWorld> {
  const world = await PageWorld.start({ devices: DEVICES, config: { mesh: { name: 'house' } } });
  const { hub } = world;
  for (const [floor, areas] of Object.entries(FLOORS)) {
    for (const area of areas) await hub.result('hub:describe_area', { area, floor });
  }
  await hub.result('hub:mesh_create', { passphrase: PASSPHRASE, name: 'home' });
  await hub.result('hub:add_person', { name: 'tim', title: 'Tim', role: 'child', rooms: CHILD_ROOMS, kinds: [] });
  await hub.result('hub:add_person', { name: 'ann', title: 'Ann', role: 'adult' });
  await hub.result('save_scene', { name: 'Good night', area: 'Bedroom' });
  await spawnAutomation(world);
  await letAgentWork(world);
  return world;
}

async function spawnAutomation({ hub }: PageWorld): Promise<void> {
  await hub.result('spawn_agent', {
    agent_type: 'automation',
    name: 'evening',
    permissions: ['device:control:living-room-lamp'],
    config: {
      trigger: { type: 'time', at: '19:30' },
      actions: [{ tool: 'turn_on_light', params: { device_id: 'living-room-lamp' } }],
    },
  });
}

/** An agent turns a lamp on, registers a tool, and asks for what has to wait for people. */
async function letAgentWork(world: PageWorld): Promise<void> {
  const permissions = ['device:control:*', 'device:read:*', 'sensor:read:*', 'tool:register'];
  const { token } = await world.hub.result('hub:mint_token', { agent_id: 'claude', permissions });
  const send = async (path: string, body: JsonObject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${world.hub.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (response.status >= 300) throw new Error(`${path}: ${await response.text()}`);
  };
  await send('/api/v1/tools/living_room_lamp_turn_on/invoke', {});
  await send('/api/v1/tools/front_door_unlock/invoke', { pin: '1234' });
  await send('/api/v1/tools', {
    id: 'reading_light',
    name: 'Reading light',
    description: 'Turns the lamp of the living room on for reading.',
    input_schema: {},
    steps: [{ tool: 'turn_on_light', params: { device_id: 'living-room-lamp' } }],
  });
}

/** Returns the code of an invitation for a person of the household. */
export async function invitationOf({ hub }: PageWorld, name: string): Promise<string> {
  return String((await hub.result('hub:invite_person', { name })).code);
}

/** Registers an application, and returns the route of the page with its request for access. */
export async function requestOf({ hub }: PageWorld): Promise<string> {
  const redirectUri = 'http://127.0.0.1:7777/callback';
  const body = JSON.stringify({ client_name: 'Claude Code', redirect_uris: [redirectUri] });
  const registered = await fetch(`${hub.url}/oauth/register`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { client_id: clientId } = (await registered.json()) as { readonly client_id: string };
  const query = new URLSearchParams({
    ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, state: 's' },
    ...{ code_challenge: 'A'.repeat(43), code_challenge_method: 'S256', resource: `${hub.url}/mcp` },
  });
  return `authorize/${encodeURIComponent(`?${query}`)}`;
}
