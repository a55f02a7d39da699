import { toAtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectsOf } from '../core/json.ts';
import { type CheckResult, type Finding, guardedCheck, type HubQuestions, objectsIn, ok, warning } from './check-result.ts';
import { meshFinding } from './mesh-finding.ts';

/** Checks the devices, agents and backups of the home, and the other hubs. */
export function homeChecks(hub: HubQuestions, nowMs: number): Promise<readonly CheckResult[]> {
  return Promise.all([
    guardedCheck('devices', async () => devicesFinding(await hub.devices())),
    guardedCheck('half commissioned devices', () => halfCommissionedFinding(hub)),
    guardedCheck('agents', async () => agentsFinding(await hub.call('list_agents', {}), nowMs)),
    guardedCheck('mesh', async () => meshFinding(await hub.mesh())),
    guardedCheck('backups', async () => backupsFinding(await hub.call('hub:show_backups', {}))),
  ]);
}

function devicesFinding(answer: JsonObject): Finding {
  const devices = objectsIn(answer, 'devices');
  const away = devices.filter(({ reachability }) => reachability !== 'reachable').map(({ id }) => id);
  if (away.length === 0) return ok(devices.length === 0 ? 'none yet: atmo commission CODE' : `${devices.length} reachable`);
  const advice = `see that they have power, then atmo device ping ${away[0]}`;
  return warning(`${away.length} of ${devices.length} not reachable: ${away.join(', ')}`, advice);
}

async function halfCommissionedFinding(hub: HubQuestions): Promise<Finding> {
  const answer = await hub.call('hub:half_commissioned', {}).catch((thrown: unknown) => requireMatterOff(hub, thrown));
  if (answer === undefined) return ok('Matter is off (matter.enabled)');
  const devices = objectsOf(answer);
  if (devices.length === 0) return ok('none');
  const advice = devices.map((device) => device.advice).join('; ');
  return warning(devices.map((device) => device.id).join(', '), advice);
}

/** Resolves if the tool is missing because Matter is off on the hub. Otherwise throws `thrown` again. */
async function requireMatterOff(hub: HubQuestions, thrown: unknown): Promise<undefined> {
  if (toAtmoError(thrown).code !== 'TOOL_NOT_FOUND' || (await hub.isMatterOn())) throw thrown;
}

/** Returns the finding about agents that fail, expire soon or have expired. Agents that were killed are omitted. */
function agentsFinding(answer: Json, nowMs: number): Finding {
  const agents = objectsIn(answer, 'agents');
  const living = agents.filter((agent) => isLiving(agent) && !hasExpired(agent, nowMs));
  const failing = living.filter(({ last_error: error, status }) => isJsonObject(error) || status === 'failing');
  const expired = agents.filter((agent) => hasExpired(agent, nowMs) && nowMs - msOf(agent.expires_at) < SHOWN_AFTER_END_MS);
  const ending = living.filter((agent) => endsSoon(agent, nowMs));
  const problems = [
    ...(failing.length > 0 ? [`${idsOf(failing)} failed last: ${failureOf(failing[0])}`] : []),
    ...(expired.length > 0 ? [`${idsOf(expired)} has ended, its time is over`] : []),
    ...ending.map(({ agent_id: id, expires_at: at }) => `${id} ends at ${at}`),
  ];
  if (problems.length === 0) return ok(`${living.length} at work`);
  const renew =
    expired.length + ending.length > 0
      ? ['atmo agent renew NAME gives an automation a new end, atmo agent spawn NAME --ttl TIME makes any agent anew']
      : [];
  const look = failing.length > 0 ? ['atmo agents lists them; atmo audit tail --agent ID tells what they did'] : [];
  return warning(problems.join('; '), [...look, ...renew].join('; '));
}

const DAY_MS = 86_400_000;
/** Milliseconds for which an expired agent is still reported. */
const SHOWN_AFTER_END_MS = 30 * DAY_MS;
const SOON_MS = 3 * DAY_MS;

function isLiving({ status }: JsonObject): boolean {
  return status !== 'killed' && status !== 'expired';
}

function hasExpired({ status, expires_at: at }: JsonObject, nowMs: number): boolean {
  return status === 'expired' || (status !== 'killed' && msOf(at) <= nowMs);
}

/** Returns whether an agent expires within three days or within a quarter of its lifetime, whichever is shorter. */
function endsSoon({ created_at: from, expires_at: at, renews_itself: renewsItself }: JsonObject, nowMs: number): boolean {
  if (renewsItself === true) return false;
  const lifeMs = msOf(at) - msOf(from);
  return msOf(at) - nowMs <= (Number.isNaN(lifeMs) ? SOON_MS : Math.min(SOON_MS, lifeMs / 4));
}

function msOf(time: unknown): number {
  return typeof time === 'string' ? Date.parse(time) : Number.NaN;
}

function idsOf(agents: readonly JsonObject[]): string {
  return agents.map(({ agent_id: id }) => id).join(', ');
}

function failureOf(agent: JsonObject | undefined): string {
  return isJsonObject(agent?.last_error) ? `${agent.last_error.code}: ${agent.last_error.message}` : String(agent?.reason ?? '');
}

/** Number of days before expiry at which a certificate gets a warning. The hub renews its own certificate long before. */
const ENDING_DAYS = 14;
const TRUSTED_ADVICE =
  'passkeys, notifications on phones and chat applications need a name with a trusted certificate: docs/trusted-certificate.md';
const ACME_ADVICE =
  'the hub tries again by itself, and at once after a restart (sudo systemctl restart atmosphere-edge): docs/trusted-certificate.md';

/** Checks the certificate of the hub, and whether browsers trust it without further ado. */
export function certificateCheck(hub: Pick<HubQuestions, 'tls'>, nowMs: number): Promise<CheckResult> {
  return guardedCheck('TLS certificate', async () => certificateFinding(await hub.tls(), nowMs));
}

function certificateFinding(facts: JsonObject, nowMs: number): Finding {
  const { enabled, url, source, certificate_ends_at: endsAt, issuer, problem } = facts;
  if (enabled !== true) return ok('none needed: the hub answers to this machine alone');
  if (source === 'proxy') return ok(`${url}, by a reverse proxy, which has the certificate`);
  const days = Math.floor((Date.parse(String(endsAt)) - nowMs) / DAY_MS);
  const found = `${url}${typeof issuer === 'string' ? `, by ${issuer}` : ''}, until ${endsAt}`;
  if (typeof problem === 'string') return { state: days < 0 ? 'failed' : 'warning', found: `${found}. ${problem}`, advice: ACME_ADVICE };
  if (days >= ENDING_DAYS) return source === 'own_authority' ? { ...ok(found), advice: TRUSTED_ADVICE } : ok(found);
  const advice = 'the hub renews its own: see its log and its clock; one that you brought (http.tls.certificate_file) you renew';
  return { state: days < 0 ? 'failed' : 'warning', found, advice };
}

/** Returns the finding about the backups that the hub writes by itself. */
function backupsFinding(answer: Json): Finding {
  const { schedule, problem, last_success_at: last, folder, on_same_disk: isOnSameDisk } = isJsonObject(answer) ? answer : {};
  const at = isJsonObject(schedule) ? schedule.at : undefined;
  if (typeof problem === 'string') return warning(problem, 'atmo backups tells more; atmo backups now makes one');
  if (at === undefined)
    return warning('the hub writes none by itself', 'atmo backups schedule 03:30, or the page Settings; or keep to atmo backup FILE');
  const found = `daily at ${at} into ${folder}, ${last === undefined ? 'none yet' : `the last at ${last}`}`;
  if (isOnSameDisk !== true) return ok(found);
  return warning(
    `${found}, on the disk of the hub`,
    'a disk that fails takes them with it: name a folder on another disk in backup.folder of config.yaml',
  );
}
