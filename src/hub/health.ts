import type { MeshPorts } from '../calls/mesh-ports.ts';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectsOf } from '../core/json.ts';
import { authorizationChecks } from '../doctor/authorization-checks.ts';
import { type CheckResult, type CheckSection, type HubQuestions, named } from '../doctor/check-result.ts';
import { certificateCheck, homeChecks } from '../doctor/home-checks.ts';
import { clockCheck, directoryChecks, memoryBoundCheck, nodeCheck } from '../doctor/machine-checks.ts';
import type { CallPort } from '../http/ports.ts';
import { READS_WHOLE_HUB } from '../tools/builtin/hub-tool.ts';
import { defineTool, resultSchema, TEXT } from '../tools/definition/define-tool.ts';
import type { RegisteredTool, ToolContext } from '../tools/definition/tool-definition.ts';
import type { HubConfig } from './config/config.ts';
import type { Infrastructure } from './infrastructure.ts';

interface HealthParts {
  readonly infrastructure: Pick<Infrastructure, 'clock' | 'directory' | 'matter' | 'problems'>;
  readonly services: { readonly pipeline: Pick<CallPort, 'call'>; readonly meshProxy: Pick<MeshPorts, 'view'> };
  readonly http: { readonly localUrl: string; tlsView(): JsonObject };
  readonly config: Pick<HubConfig, 'stateDir' | 'mesh'>;
}

const CHECK = resultSchema(
  {
    section: TEXT,
    check: { ...TEXT, description: 'What was checked' },
    state: { enum: ['ok', 'warning', 'failed'] },
    found: { ...TEXT, description: 'What was found' },
    advice: { ...TEXT, description: 'What to do' },
  },
  ['advice'],
);

/**
 * Returns `hub:check_health`, which runs the checks of `atmo doctor` inside the hub, with the rights of the caller. The databases are not
 * read, since that would stop the hub for seconds; the hub checks them at its start.
 */
export function healthTool(parts: HealthParts): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
      name: 'check_health',
      title: 'Check the health of the hub',
      description:
        'Runs the checks of `atmo doctor` on the hub: machine, network, disk, devices, agents, backups, certificate, decisions. Each finding that is not ok says what to do.',
      timeoutMs: 60_000,
      tags: ['doctor', 'diagnose', 'problem'],
      parameters: {},
      returns: resultSchema({ ok: { type: 'boolean' }, checks: { type: 'array', items: CHECK } }),
    },
    async (_params, context) => {
      const sections = await sectionsOf(parts, context);
      const checks = sections.flatMap(({ title, checks: inSection }) => inSection.map((check) => ({ section: title, ...check })));
      return { ok: checks.every(({ state }) => state !== 'failed'), checks };
    },
  );
}

async function sectionsOf(parts: HealthParts, context: ToolContext): Promise<readonly CheckSection[]> {
  const nowMs = parts.infrastructure.clock.now();
  const hub = questionsInside(parts, context);
  const [home, decisions, certificate, network] = await Promise.all([
    homeChecks(hub, nowMs),
    authorizationChecks(hub, nowMs),
    certificateCheck(hub, nowMs),
    networkChecks(parts),
  ]);
  const problems = parts.infrastructure.problems.list();
  return [
    { title: 'Hub', checks: [...problems.map(problemCheck), certificate] },
    { title: 'Home', checks: home },
    { title: 'Decisions', checks: decisions },
    { title: 'Machine', checks: machineChecks(nowMs) },
    { title: 'Network', checks: network },
    { title: 'State', checks: directoryChecks(parts.config.stateDir) },
  ];
}

function problemCheck(problem: string): CheckResult {
  return named('hub', { state: 'warning', found: problem, advice: 'its log says more: journalctl -u atmosphere-edge' });
}

function machineChecks(nowMs: number): readonly CheckResult[] {
  return [
    named('node', nodeCheck(process.versions.node)),
    named('clock', clockCheck(nowMs)),
    named('bounds of memory', memoryBoundCheck()),
  ];
}

/** Checks the network. Loaded when needed, because the checks open sockets. */
async function networkChecks({ services, http, config }: HealthParts): Promise<readonly CheckResult[]> {
  const { networkChecks: run } = await import('../doctor/network-checks.ts');
  const isInMesh = services.meshProxy.view.peers().length > 0;
  return run({ http: Number(new URL(http.localUrl).port), mesh: config.mesh.port, isHubThere: true, isInMesh });
}

/** Returns the hub as the checks ask it from inside: each question is a call with the rights of the caller. */
function questionsInside({ infrastructure, services, http }: HealthParts, context: ToolContext): HubQuestions {
  const call = (tool: string, params: JsonObject) => callWithin(services.pipeline, { tool, params }, context);
  return {
    call,
    devices: async () => ({ devices: infrastructure.directory.list().map(({ id, reachability }) => ({ id, reachability })) }),
    mesh: async () => {
      const [status, peers] = await Promise.all([call('hub:mesh_status', {}), call('hub:mesh_peers', {})]);
      return { ...(isJsonObject(status) && status), peers: objectsOf(peers).map(({ hub_id: id = null, ...peer }) => ({ id, ...peer })) };
    },
    tls: async () => http.tlsView(),
    isMatterOn: async () => infrastructure.matter !== undefined,
  };
}

async function callWithin(
  pipeline: Pick<CallPort, 'call'>,
  { tool, params }: { readonly tool: string; readonly params: JsonObject },
  context: ToolContext,
): Promise<Json> {
  const { principal, traceId, sessionId, signal } = context;
  const answer = await pipeline.call({ principal, tool, params, traceId, sessionId, signal, within: context });
  if (answer.status !== 'error') return answer.result;
  const { code, message, details } = answer.error;
  throw new AtmoError(code, message, details);
}
