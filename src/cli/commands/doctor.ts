import { type Command, type Invocation, usage } from '../command.ts';
import { accessChecks } from '../doctor/access-checks.ts';
import { agentChecks } from '../doctor/agent-checks.ts';
import { checkPage } from '../doctor/check-page.ts';
import type { CheckSection } from '../doctor/check-result.ts';
import { doorChecks } from '../doctor/door-checks.ts';
import { homeChecks, hubCheck } from '../doctor/hub-checks.ts';
import type { HubPorts } from '../doctor/hub-ports.ts';
import { clockCheck, memoryBoundCheck, nodeCheck, tokenCheck } from '../doctor/machine-checks.ts';
import { stateChecks } from '../doctor/state-checks.ts';
import { toolChecks } from '../doctor/tool-checks.ts';
import { HubClient } from '../hub/hub-client.ts';
import { meshIfAllowed } from '../mesh-facts.ts';
import { isLoopback } from '../state-dir.ts';
import { readInput } from '../terminal/text-input.ts';

const MESH_PORT = '8082';

export const doctor: Command = {
  name: 'doctor',
  summary: 'look for what is wrong and say what to do; with TOOL, why an agent cannot use it',
  examples: ['doctor', 'doctor living_room_lamp_turn_on', 'doctor living_room_lamp_turn_on --as @helper.token'],
  operands: [{ name: 'TOOL', help: 'check list of one tool', isOptional: true }],
  options: { as: { value: 'TOKEN', help: "with TOOL: look with this agent's token (its text, @FILE, or - for stdin)" } },
  async run(call) {
    const [tool] = call.operands;
    if (tool === undefined && call.text('as') !== undefined) throw usage('--as is about one TOOL; name it');
    const { sections, isHubThere } = await call.output.during('Looking around', () => examine(call, tool));
    const checks = sections.flatMap(({ title, checks: inSection }) => inSection.map((check) => ({ section: title, ...check })));
    const isWell = checks.every(({ state }) => state !== 'failed');
    call.output.answer({ ok: isWell, checks }, () => checkPage(sections));
    if (isWell) return undefined;
    return isHubThere ? 1 : 5;
  },
};

/** Everything that can be looked at; without a hub what is left of it. */
async function examine(call: Invocation, tool: string | undefined) {
  const { hub, io } = call;
  const answers = await hubCheck(hub);
  const isHubThere = answers.state !== 'failed';
  const own: CheckSection[] = [
    { title: 'Machine', checks: [nodeCheck(process.versions.node), clockCheck(Date.now()), memoryBoundCheck(), tokenCheck(io.env)] },
    { title: 'Network', checks: (await io.networkChecks?.(await portsOf(call, isHubThere))) ?? [] },
    { title: 'State', checks: await stateChecks(io.env) },
  ];
  const sections = [
    ...own,
    ...(isHubThere ? await hubSections(hub) : []),
    ...(tool === undefined ? [] : await toolSection(call, tool, isHubThere)),
  ];
  return { isHubThere, sections: [{ title: 'Hub', checks: [answers] }, ...sections] };
}

async function portsOf({ hub, io }: Invocation, isHubThere: boolean): Promise<HubPorts> {
  const { port, protocol } = new URL(hub.url);
  const http = Number(port) || (protocol === 'https:' ? 443 : 80);
  const isInMesh = isHubThere ? await membership(hub) : undefined;
  const mesh = Number(io.env.ATMO_MESH_PORT || MESH_PORT);
  return { ...(isLoopback(hub.url) && { http }), mesh, isHubThere, ...(isInMesh !== undefined && { isInMesh }) };
}

/** Undefined where the hub does not say. */
async function membership(hub: HubClient): Promise<boolean | undefined> {
  try {
    const mesh = await meshIfAllowed(hub);
    return mesh && mesh.mesh_id !== undefined;
  } catch {
    return undefined;
  }
}

async function hubSections(hub: HubClient): Promise<readonly CheckSection[]> {
  const nowMs = Date.now();
  const [home, access, doors] = await Promise.all([homeChecks(hub, nowMs), accessChecks(hub, nowMs), doorChecks(hub, nowMs)]);
  return [
    { title: 'Home', checks: home },
    { title: 'Decisions', checks: access },
    { title: 'Page and agents', checks: doors },
  ];
}

async function toolSection(call: Invocation, tool: string, isHubThere: boolean): Promise<readonly CheckSection[]> {
  if (!isHubThere) return [];
  return [{ title: `Tool ${tool}`, checks: [...(await toolChecks(call.hub, tool)), ...(await asAgent(call, tool))] }];
}

/** Nothing unless `--as` names an agent's token. */
async function asAgent(call: Invocation, toolName: string) {
  const given = call.text('as');
  if (given === undefined) return [];
  const token = await readInput(given, call.io);
  const agent = new HubClient({ fetch: call.io.fetch, signal: call.io.signal, env: { ...call.io.env, ATMO_TOKEN: token } });
  return agentChecks({ hub: call.hub, agent, token, toolName });
}
