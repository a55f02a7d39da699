import { isJsonObject } from '../../src/core/json.ts';
import type { DemoHub, DemoWorld, Step } from './demo-world.ts';
import { ensure, until } from './proof.ts';

const LAMP = { device: 'Living room lamp', endpoint: 1, cluster: 'onOff', attribute: 'onOff' } as const;
const DOOR = { device: 'Front door', endpoint: 1, cluster: 'doorLock', attribute: 'lockState' } as const;
const LOCKED = 1;
const UNLOCKED = 2;
const UNLOCK = 'front_door_unlock';
const PIN = { pin: '1234' };
/** Ways to the door, by names that an agent could guess. */
const WAYS_TO_THE_DOOR = [
  { tool: UNLOCK, params: PIN },
  { tool: 'control_matter_device', params: { device_id: 'front-door', cluster: 'DoorLock', command: 'UnlockDoor' } },
] as const;

/** What agents may do, and what stays of it. */
export const ACCESS_STEPS: readonly Step[] = [
  { title: 'Give an agent a token for one lamp', run: keepToOneLamp },
  { title: 'Let an agent ask for the front door', run: openOnce },
  { title: 'Prove what was done', run: proveIt },
];

async function keepToOneLamp(world: DemoWorld): Promise<void> {
  const { home, say } = world;
  const agent = await agentWith(world, 'reading-light', 'device:control:living-room-lamp');
  await home.set(LAMP, false);
  const answer = await agent.call('living_room_lamp_turn_on', {});
  ensure(answer.status === 'success', `The agent may not turn on its own lamp: ${JSON.stringify(answer.error)}`);
  await until(async () => (await home.get(LAMP)) === true, 'the lamp to be on');
  say('turns its lamp on; the lamp itself holds onOff.onOff = true');
  const before = await home.commands(DOOR.device);
  for (const { tool, params } of WAYS_TO_THE_DOOR) {
    const { error } = await agent.call(tool, params);
    ensure(isJsonObject(error), `${tool} let the agent of a lamp touch the door`);
    say(`${tool}: ${error.code}`);
  }
  ensure((await home.get(DOOR)) === LOCKED, 'The door is not locked any more');
  ensure((await home.commands(DOOR.device)).length === before.length, 'Something reached the door');
  say('the door itself is locked and heard nothing');
}

async function openOnce(world: DemoWorld): Promise<void> {
  const { home, say, terminal } = world;
  const agent = await agentWith(world, 'door-keeper', 'device:control:front-door');
  const approvalId = await askForDoor(agent);
  ensure((await home.get(DOOR)) === LOCKED, 'The door opened without anybody having agreed');
  say('the agent asks, the door stays locked');
  await terminal.atmo('approve', approvalId);
  say(`$ atmo approve ${approvalId}`);
  const answer = await agent.call(UNLOCK, PIN);
  ensure(answer.status === 'success', `The approved call was refused: ${JSON.stringify(answer.error)}`);
  await until(async () => (await home.get(DOOR)) === UNLOCKED, 'the door to be unlocked');
  say('the same call again: the door itself is unlocked');
  await home.set(DOOR, LOCKED);
  const next = await askForDoor(agent);
  ensure(next !== approvalId && (await home.get(DOOR)) === LOCKED, 'One approval opened the door twice');
  await terminal.atmo('deny', next);
  say('locked again, a third call has to ask anew, and is denied');
}

async function proveIt({ hub, say, terminal }: DemoWorld): Promise<void> {
  const verdict = await terminal.atmo('audit', 'verify');
  ensure(verdict.startsWith('intact: '), `The journal is not intact: ${verdict}`);
  say('$ atmo audit verify');
  say(verdict);
  const { rows } = await hub.get('/api/v1/audit?agent=door-keeper&kind=intent');
  const [intent, ...more] = Array.isArray(rows) ? rows.filter(isJsonObject) : [];
  ensure(intent !== undefined && more.length === 0, `The journal tells of ${more.length} calls of the door too many, or of none`);
  const { decision, params } = isJsonObject(intent.content) ? intent.content : {};
  const approvers = isJsonObject(decision) && Array.isArray(decision.approved_by) ? decision.approved_by : [];
  ensure(approvers.join() === 'owner', `The journal does not say that the owner agreed: ${JSON.stringify(decision)}`);
  ensure(!JSON.stringify(rows).includes(PIN.pin), 'The journal repeats the PIN of the door');
  say(`row ${intent.seq}: ${intent.agent} called ${intent.tool} ${JSON.stringify(params)}, approved by ${approvers.join(', ')}`);
}

/** A hub as an agent with these rights meets it. */
async function agentWith({ hub, terminal, say }: DemoWorld, name: string, permission: string): Promise<DemoHub> {
  const token = await terminal.atmo('token', 'mint', '--agent', name, '--allow', permission);
  say(`$ atmo token mint --agent ${name} --allow ${permission}`);
  return hub.as(token);
}

/** Id of the request that waits for people. */
async function askForDoor(agent: DemoHub): Promise<string> {
  const { error } = await agent.call(UNLOCK, PIN);
  ensure(isJsonObject(error) && error.code === 'APPROVAL_REQUIRED', `Nobody was asked: ${JSON.stringify(error)}`);
  const { details } = error;
  return isJsonObject(details) ? String(details.approval_id) : '';
}
