import { authorizationChecks } from '../../doctor/authorization-checks.ts';
import { type CheckResult, type CheckSection, type HubPorts, named } from '../../doctor/check-result.ts';
import { homeChecks } from '../../doctor/home-checks.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { acceptanceChecks, endpointChecks, hubCheck, questionsOverHttp } from '../doctor/hub-checks.ts';
import { agentChecks, toolChecks } from '../doctor/tool-checks.ts';
import { HubClient } from '../hub/hub-client.ts';
import { meshIfAllowed } from '../hub/mesh-status.ts';
import { isLoopback } from '../identity/credential.ts';
import { readInput } from '../input.ts';
import { type Block, heading, type RenderTarget } from '../terminal/blocks.ts';
import { cellText } from '../terminal/text-table.ts';
import { padText, textWidth, wrapText } from '../terminal/text-width.ts';

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
    const { sections, isHubThere } = await call.output.during('Looking around', () => runChecks(call, tool));
    const checks = sections.flatMap(({ title, checks: inSection }) => inSection.map((check) => ({ section: title, ...check })));
    const isWell = checks.every(({ state }) => state !== 'failed');
    call.output.answer({ ok: isWell, checks }, () => checkPage(sections));
    return isWell ? 0 : isHubThere ? 1 : 5;
  },
};

/** Runs all checks. If no hub responds, skips the checks that need a hub. */
async function runChecks(call: Invocation, tool: string | undefined) {
  const { hub, io } = call;
  const health = await hubCheck(hub, (error) => call.output.stepAfter(error));
  const isHubThere = health.state !== 'failed';
  const sections = [
    ...(await io.machineChecks(await portsOf(call, isHubThere))),
    ...(isHubThere ? await hubSections(hub) : []),
    ...(tool === undefined ? [] : await toolSection(call, tool, isHubThere)),
  ];
  return { isHubThere, sections: [{ title: 'Hub', checks: [named('hub', health)] }, ...sections] };
}

async function portsOf({ hub, io }: Invocation, isHubThere: boolean): Promise<HubPorts> {
  const { port, protocol } = new URL(hub.url);
  const http = Number(port) || (protocol === 'https:' ? 443 : 80);
  const isInMesh = isHubThere ? await membership(hub) : undefined;
  const mesh = Number(io.env.ATMO_MESH_PORT || MESH_PORT);
  return { ...(isLoopback(hub.url) && { http }), mesh, isHubThere, ...(isInMesh !== undefined && { isInMesh }) };
}

/** Returns whether the hub is a member of a mesh. Returns undefined if that cannot be found out. */
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
  const questions = questionsOverHttp(hub);
  const [accepted, home, access, endpoints] = await Promise.all([
    acceptanceChecks(hub),
    homeChecks(questions, nowMs),
    authorizationChecks(questions, nowMs),
    endpointChecks(hub, nowMs),
  ]);
  return [
    { title: 'Home', checks: [...accepted, ...home] },
    { title: 'Decisions', checks: access },
    { title: 'Page and agents', checks: endpoints },
  ];
}

async function toolSection(call: Invocation, tool: string, isHubThere: boolean): Promise<readonly CheckSection[]> {
  if (!isHubThere) return [];
  return [{ title: `Tool ${tool}`, checks: [...(await toolChecks(call.hub, tool)), ...(await asAgent(call, tool))] }];
}

/** Runs the checks with the token in `--as`. Returns no checks if `--as` is absent. */
async function asAgent(call: Invocation, toolName: string) {
  const given = call.text('as');
  if (given === undefined) return [];
  const token = await readInput(given, call.io);
  const agent = new HubClient({ fetch: call.io.fetch, signal: call.io.signal, env: { ...call.io.env, ATMO_TOKEN: token } });
  return agentChecks({ hub: call.hub, agent, token, toolName });
}

const SIGNS = { ok: ['✓', 'good'], warning: ['!', 'warning'], failed: ['✗', 'bad'] } as const;
const LEAST_COLUMNS = 24;

/** Returns the results of the checks for people. After each result that is not ok comes the remedy. */
function checkPage(sections: readonly CheckSection[]): readonly Block[] {
  const all = sections.flatMap(({ checks }) => checks);
  const width = Math.max(...all.map(({ check }) => textWidth(check)));
  const shown = sections.filter(({ checks }) => checks.length > 0);
  return [...shown.flatMap(({ title, checks }) => [heading(title), ...checks.map((check) => checkBlock(check, width))]), verdict(all)];
}

function checkBlock({ check, state, found, advice }: CheckResult, width: number): Block {
  const [sign, tone] = SIGNS[state];
  return {
    render(paper) {
      const first = `  ${paper.ink(sign, tone)} ${padText(check, width)}  ${indented(cellText(found), width + 6, paper)}\n`;
      if (state === 'ok' || advice === undefined) return first;
      return `${first}${' '.repeat(width + 6)}${paper.ink('→', tone)} ${indented(cellText(advice), width + 8, paper)}\n`;
    },
  };
}

function indented(text: string, columns: number, paper: RenderTarget): string {
  if (paper.columns === undefined) return text;
  return wrapText(text, Math.max(LEAST_COLUMNS, paper.columns - columns)).join(`\n${' '.repeat(columns)}`);
}

function verdict(all: readonly CheckResult[]): Block {
  const failed = all.filter(({ state }) => state === 'failed').length;
  const warnings = all.filter(({ state }) => state === 'warning').length;
  const text =
    failed + warnings === 0 ? 'All is well.' : `${failed} failed, ${warnings} to look at, ${all.length - failed - warnings} well.`;
  const tone = failed > 0 ? 'bad' : warnings > 0 ? 'warning' : 'good';
  return { render: ({ ink }) => `\n${ink(text, tone)}\n` };
}
