import { toAtmoError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import { accessChecks } from '../access-checks.ts';
import { agentChecks } from '../agent-checks.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { type CheckResult, machineChecks } from '../doctor-checks.ts';
import { guardedCheck } from '../guarded-check.ts';
import { HubClient } from '../hub-client.ts';
import { objectsIn } from '../json-list.ts';
import { meshFinding } from '../mesh-facts.ts';
import { readInput } from '../text-input.ts';
import { textTable } from '../text-table.ts';
import { schemaChecks, toolChecks } from '../tool-checks.ts';

const PAGE = 1_000;

export const doctor: Command = {
  name: 'doctor',
  summary: 'look for what is wrong and say what to do; with TOOL, why an agent cannot use it',
  examples: ['doctor', 'doctor living_room_lamp_on', 'doctor living_room_lamp_on --as @helper.token'],
  operands: [{ name: 'TOOL', help: 'check list of one tool', isOptional: true }],
  options: { as: { value: 'TOKEN', help: "with TOOL: look with this agent's token (its text, @FILE, or - for stdin)" } },
  async run(call) {
    const { hub, io, output, operands } = call;
    const [tool] = operands;
    if (tool === undefined && call.text('as') !== undefined) throw usage('--as is about one TOOL; name it');
    const checks = [...machineChecks(io.env), ...(await hubChecks(hub))];
    const isHubThere = checks.some(({ check, state }) => check === 'hub' && state !== 'failed');
    if (tool !== undefined && isHubThere) checks.push(...(await toolChecks(hub, tool)), ...(await asAgent(call, tool)));
    const failed = checks.filter(({ state }) => state === 'failed');
    output.answer({ ok: failed.length === 0, checks }, () =>
      textTable(
        ['CHECK', 'STATE', 'FOUND', 'WHAT TO DO'],
        checks.map(({ check, state, found, advice }) => [check, state, found, advice ?? '']),
      ),
    );
    if (failed.length === 0) return undefined;
    return isHubThere ? 1 : 5;
  },
};

async function hubChecks(hub: HubClient): Promise<readonly CheckResult[]> {
  try {
    const health = await hub.health();
    const problems = Array.isArray(health.problems) ? health.problems.join('; ') : '';
    const isWell = health.status === 'ok';
    const answers: CheckResult = isWell
      ? { check: 'hub', state: 'ok', found: `${health.node_id}, version ${health.version}` }
      : {
          check: 'hub',
          state: 'warning',
          found: `${health.status}: ${problems}`,
          advice: 'its log says more: journalctl -u atmosphere-edge',
        };
    const own = await Promise.all([accepted(hub), halfCommissioned(hub), toolSchemas(hub)]);
    const mesh = await guardedCheck('mesh', async () => meshFinding(await hub.get('/api/v1/mesh')));
    return [answers, ...own, ...(await accessChecks(hub, Date.now())), mesh];
  } catch (thrown) {
    return [
      { check: 'hub', state: 'failed', found: toAtmoError(thrown).message, advice: 'atmo serve, or systemctl status atmosphere-edge' },
    ];
  }
}

/** Nothing unless `--as` names an agent's token. */
async function asAgent(call: Invocation, toolName: string): Promise<readonly CheckResult[]> {
  const given = call.text('as');
  if (given === undefined) return [];
  const token = await readInput(given, call.io);
  const agent = new HubClient({ ...call.io, env: { ...call.io.env, ATMO_TOKEN: token } });
  return agentChecks({ hub: call.hub, agent, token, toolName });
}

function accepted(hub: HubClient): Promise<CheckResult> {
  return guardedCheck('token is accepted', async () => {
    const devices = objectsIn(await hub.get('/api/v1/devices'), 'devices');
    return { state: 'ok', found: `${devices.length} devices` };
  });
}

function halfCommissioned(hub: HubClient): Promise<CheckResult> {
  return guardedCheck('half commissioned devices', async () => {
    const answer = await hub.call('hub:half_commissioned', {});
    const devices = Array.isArray(answer) ? answer.filter(isJsonObject) : [];
    if (devices.length === 0) return { state: 'ok', found: 'none' };
    const advice = devices.map((device) => device.advice).join('; ');
    return { state: 'warning', found: devices.map((device) => device.id).join(', '), advice };
  });
}

function toolSchemas(hub: HubClient): Promise<CheckResult> {
  return guardedCheck('tool schemas', async () => {
    const tools = objectsIn(await hub.get('/api/v1/tools', { limit: PAGE }), 'tools');
    const wrong = tools.filter((tool) => schemaChecks(tool).some(({ state }) => state !== 'ok')).map((tool) => tool.id);
    if (wrong.length === 0) return { state: 'ok', found: `${tools.length} tools` };
    return { state: 'warning', found: `${wrong.length} of ${tools.length} tools`, advice: `atmo doctor ${wrong[0]}` };
  });
}
