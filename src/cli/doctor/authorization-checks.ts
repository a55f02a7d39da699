import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { type CheckResult, guardedCheck } from './check-result.ts';

/** A token that ends sooner than this is told. */
const SOON_MS = 72 * 3_600_000;

/** Whether the hub can decide about calls and prove it: its clock, approvers, journal, rules and tokens. */
export function authorizationChecks(hub: HubClient, nowMs: number): Promise<readonly CheckResult[]> {
  const ask = async (tool: string): Promise<JsonObject> => {
    const answer = await hub.call(tool, {});
    return isJsonObject(answer) ? answer : {};
  };
  return Promise.all([
    guardedCheck('clock is trusted', async () => clockFinding(await ask('hub:clock_status'))),
    guardedCheck('approvers', async () => approversFinding(await ask('hub:list_approvers'))),
    guardedCheck('journal', async () => journalFinding(await ask('hub:verify_audit'))),
    guardedCheck('rules', async () => rulesFinding(await ask('hub:list_rules'))),
    guardedCheck('tokens', async () => tokensFinding(await ask('hub:list_tokens'), nowMs)),
  ]);
}

type Finding = Omit<CheckResult, 'check'>;

function clockFinding({ trusted, now, source, advice }: JsonObject): Finding {
  if (trusted === true) return { state: 'ok', found: `${now}, from ${source}` };
  const found = `${now} is not trusted: dangerous calls are refused`;
  return { state: 'failed', found, advice: typeof advice === 'string' ? advice : 'atmo clock set TIME' };
}

function approversFinding(answer: JsonObject): Finding {
  const persons = [...new Set(objectsIn(answer, 'approvers').map(({ person }) => person))];
  if (persons.length > 0) return { state: 'ok', found: persons.join(', ') };
  return { state: 'failed', found: 'nobody can approve a dangerous call', advice: 'sudo atmo login enrols you' };
}

function journalFinding({ intact, rows, problem }: JsonObject): Finding {
  if (intact === true) return { state: 'ok', found: `${rows} rows, the chain is whole` };
  const { seq, reason } = isJsonObject(problem) ? problem : {};
  return {
    state: 'failed',
    found: `row ${seq}: ${reason}`,
    advice: 'somebody or a disk changed the journal; keep a copy before anything else',
  };
}

function rulesFinding(answer: JsonObject): Finding {
  const { file, problem, default: otherwise } = answer;
  if (typeof problem === 'string')
    return { state: 'failed', found: problem, advice: `mend ${file}; the rules from before hold until then` };
  const [warning, ...others] = objectsIn(answer, 'warnings');
  const found = `${objectsIn(answer, 'rules').length} rules, otherwise ${otherwise}`;
  if (!warning) return { state: 'ok', found };
  return {
    state: 'warning',
    found: `${found}; ${others.length + 1} probably not meant`,
    advice: `${file}:${warning.line}: ${warning.message}`,
  };
}

function tokensFinding(answer: JsonObject, nowMs: number): Finding {
  const valid = objectsIn(answer, 'tokens').filter(({ state }) => state === 'valid');
  const ending = valid.filter(({ expires_at: until, issued_at: from }) => isEnding(String(from), String(until), nowMs));
  if (ending.length === 0) return { state: 'ok', found: `${valid.length} in force` };
  const found = ending.map(({ agent_id: agent, expires_at: until }) => `${agent} until ${until}`).join(', ');
  return { state: 'warning', found, advice: 'atmo token mint makes new ones' };
}

/** A token for an hour is meant to end: only those that lived long are told. */
function isEnding(from: string, until: string, nowMs: number): boolean {
  const untilMs = Date.parse(until);
  return untilMs - nowMs < SOON_MS && untilMs - Date.parse(from) > 2 * SOON_MS;
}
