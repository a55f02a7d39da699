import { isJsonObject, type JsonObject } from '../../src/core/json.ts';
import type { DemoAgent, DemoWorld, Step } from './demo-world.ts';
import { ensure, until } from './proof.ts';

const LAMP = { device: 'Living room lamp', endpoint: 1, cluster: 'onOff', attribute: 'onOff' } as const;
const DOOR = { device: 'Front door', endpoint: 1, cluster: 'doorLock', attribute: 'lockState' } as const;
const GARDEN = { device: 'Garden thermometer', endpoint: 1, cluster: 'temperatureMeasurement', attribute: 'measuredValue' } as const;
const LOCKED = 1;
const UNLOCKED = 2;
/** What the garden's sensor says one after another, in hundredths of a degree. */
const COURSE = [410, 2_880, 1_230];
const SENTENCE = 'put the light in the living room out';

/** What an agent that speaks MCP does in the home, and where it is stopped. */
export const AGENT_STEPS: readonly Step[] = [
  { title: 'Connect an agent over MCP', run: connectAgent },
  { title: 'Let the agent find and switch a light', run: switchLight },
  { title: 'Let the agent tell how a sensor went', run: tellTheDay },
  { title: 'Stop the agent at the door until a person agrees', run: stopAtTheDoor },
];

async function connectAgent({ terminal, say }: DemoWorld): Promise<void> {
  await using agent = await terminal.agent('assistant');
  const tools = await agent.tools();
  ensure(tools.includes('search_tools') && tools.length <= 20, `An agent saw ${tools.length} tools at once: ${tools.join(', ')}`);
  say('$ atmo mcp --agent assistant');
  say(`${tools.length} tools that find and run all others: ${tools.join(', ')}`);
}

async function switchLight({ home, terminal, say }: DemoWorld): Promise<void> {
  await using agent = await terminal.agent('assistant');
  await home.set(LAMP, true);
  const { tools } = await agent.call('search_tools', { query: SENTENCE });
  const found = Array.isArray(tools) ? tools.filter(isJsonObject) : [];
  say(`search_tools "${SENTENCE}" → ${found.map(({ name }) => name).join(', ')}`);
  const off = found.find(({ name }) => name === 'living_room_lamp_turn_off');
  ensure(off !== undefined && off.call_with === 'control_tool', 'The agent did not find how to turn the lamp off');
  await succeed(agent, 'control_tool', { name: 'living_room_lamp_turn_off' });
  await until(async () => (await home.get(LAMP)) === false, 'the lamp to be off');
  say('control_tool living_room_lamp_turn_off → the lamp itself holds onOff.onOff = false');
}

async function tellTheDay({ hub, home, terminal, say }: DemoWorld): Promise<void> {
  for (const value of COURSE) {
    await home.set(GARDEN, value);
    await until(async () => (await temperature(hub)) === value / 100, `the hub to hear ${value / 100} °C`);
  }
  await using agent = await terminal.agent('assistant');
  const day = await agent.call('sensor_history', { sensor: 'garden-thermometer/temperature', since: '24h' });
  say(`sensor_history → ${JSON.stringify({ min: day.min, max: day.max, mean: day.mean })}`);
  ensure(JSON.stringify(day.max).includes('28.8'), `The warmest moment is missing: ${JSON.stringify(day)}`);
}

async function stopAtTheDoor({ home, terminal, say }: DemoWorld): Promise<void> {
  await using agent = await terminal.agent('assistant');
  const wish = { name: 'front_door_unlock', arguments: { pin: '1234' } };
  await home.set(DOOR, LOCKED);
  const { approval_id: id, ...refusal } = approvalIn(await agent.call('sensitive_tool', wish));
  ensure(typeof id === 'string', `The agent was not stopped: ${JSON.stringify(refusal)}`);
  ensure((await home.get(DOOR)) === LOCKED, 'The door opened without anybody having agreed');
  say(`sensitive_tool front_door_unlock → APPROVAL_REQUIRED ${id}; the door stays locked`);
  await terminal.atmo('approve', id);
  say(`$ atmo approve ${id}`);
  await succeed(agent, 'sensitive_tool', wish);
  await until(async () => (await home.get(DOOR)) === UNLOCKED, 'the door to be unlocked');
  say('the same call again: the door itself is unlocked');
  await home.set(DOOR, LOCKED);
}

/** The answer of a call that waits for people. */
function approvalIn(answer: JsonObject): JsonObject {
  ensure(answer.code === 'APPROVAL_REQUIRED', `A dangerous call answered ${JSON.stringify(answer)}`);
  return isJsonObject(answer.details) ? answer.details : answer;
}

async function succeed(agent: DemoAgent, tool: string, args: JsonObject): Promise<void> {
  const answer = await agent.call(tool, args);
  ensure(answer.code === undefined, `${tool} ${JSON.stringify(args)} answered ${JSON.stringify(answer)}`);
}

async function temperature(hub: DemoWorld['hub']): Promise<unknown> {
  const { readings } = await hub.get('/api/v1/devices/Garden%20thermometer');
  return Array.isArray(readings) ? readings.filter(isJsonObject).find(({ name }) => name === 'temperature')?.value : undefined;
}
