import { type JsonObject, objectOf } from '../core/json.ts';
import { type CheckResult, type Finding, failed, guardedCheck, type HubQuestions, objectsIn, ok, warning } from './check-result.ts';

/** Tokens that expire within this many milliseconds get a warning. */
const SOON_MS = 72 * 3_600_000;

/** Checks the hub's clock, approvers, audit log, rules and tokens. */
export function authorizationChecks(hub: HubQuestions, nowMs: number): Promise<readonly CheckResult[]> {
  const ask = async (tool: string) => objectOf(await hub.call(tool, {}));
  return Promise.all([
    guardedCheck('clock is trusted', async () => clockFinding(await ask('hub:clock_status'))),
    guardedCheck('approvers', async () => approversFinding(await ask('hub:list_approvers'))),
    guardedCheck('journal', async () => journalFinding(await ask('hub:verify_audit'))),
    guardedCheck('rules', async () => rulesFinding(await ask('hub:list_rules'))),
    guardedCheck('tokens', async () => tokensFinding(await ask('hub:list_tokens'), nowMs)),
  ]);
}

function clockFinding({ trusted, now, source, advice }: JsonObject): Finding {
  if (trusted === true) return ok(`${now}, from ${source}`);
  const found = `${now} is not trusted: dangerous calls are refused`;
  return failed(found, typeof advice === 'string' ? advice : 'atmo clock set TIME');
}

function approversFinding(answer: JsonObject): Finding {
  const persons = [...new Set(objectsIn(answer, 'approvers').map(({ person }) => person))];
  if (persons.length > 0) return ok(persons.join(', '));
  return failed('nobody can approve a dangerous call', 'sudo atmo login enrols you');
}

function journalFinding({ intact, rows, problem }: JsonObject): Finding {
  if (intact === true) return ok(`${rows} rows, the chain is whole`);
  const { seq, reason } = objectOf(problem);
  return failed(`row ${seq}: ${reason}`, 'somebody or a disk changed the journal; keep a copy before anything else');
}

function rulesFinding(answer: JsonObject): Finding {
  const { file, problem, default: otherwise } = answer;
  if (typeof problem === 'string') return failed(problem, `mend ${file}; the rules from before hold until then`);
  const [first, ...others] = objectsIn(answer, 'warnings');
  const found = `${objectsIn(answer, 'rules').length} rules, otherwise ${otherwise}`;
  if (!first) return ok(found);
  return warning(`${found}; ${others.length + 1} probably not meant`, `${file}:${first.line}: ${first.message}`);
}

function tokensFinding(answer: JsonObject, nowMs: number): Finding {
  const valid = objectsIn(answer, 'tokens').filter(({ state }) => state === 'valid');
  const ending = valid.filter(({ expires_at: until, issued_at: from }) => isEnding(String(from), String(until), nowMs));
  if (ending.length === 0) return ok(`${valid.length} in force`);
  const found = ending.map(({ agent_id: agent, expires_at: until }) => `${agent} until ${until}`).join(', ');
  return warning(found, 'atmo token mint makes new ones');
}

/** Returns whether a token expires soon. A token with a lifetime of 6 days or less does not count, since it is meant to expire. */
function isEnding(from: string, until: string, nowMs: number): boolean {
  const untilMs = Date.parse(until);
  return untilMs - nowMs < SOON_MS && untilMs - Date.parse(from) > 2 * SOON_MS;
}
