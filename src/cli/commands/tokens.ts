import { covers, type Grant, NO_GROUPS, parseGrant, parsePermission, requireGrant } from '../../core/auth/permission.ts';
import { LONGEST_TOKEN_SECONDS } from '../../core/auth/principal.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import { editDistance, nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import { type Json, type JsonObject, objectOf, present, textsOf } from '../../core/json.ts';
import { type Command, durationSeconds, type Invocation, ratePerMinute, usage } from '../command.ts';
import { allTools, objectsIn, resolveIdPrefix } from '../hub/answer-lists.ts';
import { hubIdOf } from '../hub/mesh-status.ts';
import { findCredential, isOwnersToken } from '../identity/credential.ts';
import { readInput } from '../input.ts';
import { textPairs, textTable } from '../terminal/text-table.ts';
import { requestCommand, toolCommand } from '../tool-command.ts';

const ALLOW = { value: 'PERMISSION', help: 'what it may do, such as device:control:DEVICE; may be repeated', isRepeated: true } as const;
const MORE = { name: 'PERMISSION', help: 'more of what --allow began', isOptional: true, isRepeated: true } as const;

const TOKEN_ID = {
  name: 'ID',
  help: 'id of the token, as atmo tokens lists it; its first characters are enough where they fit one',
  completes: 'token',
} as const;

const mint: Command = {
  name: 'token mint',
  summary: 'make a token for an agent; its text is all that stdout gets, and is told this once',
  examples: [
    'token mint --agent kitchen-assistant --allow device:control:@area/kitchen --ttl 30d',
    "token mint --agent reader --allow 'sensor:read:*' --rate 30/min",
  ],
  operands: [MORE],
  options: {
    agent: { value: 'ID', help: 'what to call the agent' },
    allow: ALLOW,
    role: { value: 'NAME', help: 'role of the configuration whose permissions it gets' },
    ttl: { value: 'TIME', help: 'how long it lasts: 15m, 24h (the default), 30d, at most 400d' },
    'max-hops': { value: 'N', help: 'over how many hubs its calls may go' },
    rate: { value: 'N/min', help: 'how many calls it may make' },
    node: { value: 'HUB', help: 'only this hub may act for it, by id or name; may be repeated', isRepeated: true },
    key: { value: 'RAW', help: "the agent's own Ed25519 key, 32 bytes in base64url: every call then needs a proof" },
  },
  async run(call) {
    const params = await mintParams(call);
    const minted = await call.hub.call('hub:mint_token', params);
    const facts = objectOf(minted);
    call.output.answer(minted, () => `${facts.token}\n`);
    if (call.output.isJson) return;
    for (const problem of await grantProblems(call.hub, params.permissions)) call.output.note(problem);
    call.output.note(mintNote(facts));
  },
};

const show = requestCommand({
  name: 'token show',
  summary: 'what a token says and whether it still holds',
  examples: ['token show @helper.token'],
  operands: [{ name: 'TOKEN', help: 'the text of the token, @FILE, or - for stdin' }],
  async request(call) {
    const given = call.operand(0);
    if (/^at[01]\./.test(given)) call.output.note('A token on the command line can be read by every user of this machine; use - or @FILE');
    return call.hub.call('hub:show_token', { token: await readInput(given, call.io) });
  },
  text: (facts) => textPairs(objectOf(facts)),
});

const list = requestCommand({
  name: 'tokens',
  summary: 'the tokens that this hub made',
  examples: ['tokens'],
  request: ({ hub }) => hub.call('hub:list_tokens', {}),
  text: (answer) => textTable(['TOKEN', 'AGENT', 'CLIENT', 'STATE', 'UNTIL', 'MAY'], objectsIn(answer, 'tokens').map(tokenRow)),
});

/** A second name for `atmo tokens`, because people who know `token mint` and `token show` also type `token list`. */
const tokenList: Command = { ...list, name: 'token list', examples: ['token list'] };

const revoke = toolCommand({
  name: 'token revoke',
  summary: 'end a token and all that come from it',
  examples: ['token revoke 0b6c'],
  tool: 'hub:revoke_token',
  operands: [TOKEN_ID],
  params: async (call) => ({ token_id: await fullId(call) }),
  sentence: ({ revoked }, call) =>
    revoked === true ? `token ${call.operand(0)} is revoked, with all that came from it` : `token ${call.operand(0)} was revoked before`,
});

const rotateOwner = toolCommand({
  name: 'token rotate-owner',
  summary: "replace the owner's token; the old one ends at once",
  examples: ['token rotate-owner'],
  tool: 'hub:rotate_owner',
  sentence: () => "the owner's token is a new one, in owner.token of the state directory; the old one has ended",
});

const check: Command = {
  name: 'token check',
  summary: 'whether permissions would allow something; needs no hub (exit code 0 yes, 3 no)',
  examples: ["token check --allow 'device:control:*' --require device:control:living-room-lamp"],
  operands: [MORE],
  options: { allow: ALLOW, require: { value: 'PERMISSION', help: 'what would be needed; may be repeated', isRepeated: true } },
  async run(call) {
    const required = call.texts('require');
    if (required.length === 0) throw usage('--require is missing: name what would be needed, such as --require device:control:DEVICE');
    const verdict = checkGrants(allowed(call), required);
    call.output.answer(verdict, () => (verdict.allowed ? 'yes\n' : `no: ${verdict.missing.join(', ')}\n`));
    if (verdict.note !== undefined) call.output.note(verdict.note);
    return verdict.allowed ? undefined : 3;
  },
};

/** Texts for people, by the source of the CLI's token. */
const SOURCES = { environment: 'ATMO_TOKEN', login: 'atmo login', owner: "the owner's token of this machine" } as const;

const whoami = requestCommand({
  name: 'whoami',
  summary: 'as whom these commands speak to the hub, and what that allows',
  examples: ['whoami'],
  async request(call) {
    const credential = findCredential(call.io.env);
    if (!credential) throw new AtmoError('UNAUTHENTICATED', 'Nobody: there is no token, neither a login nor ATMO_TOKEN');
    const { token, source } = credential;
    const facts = isOwnersToken(token)
      ? { agent_id: 'owner', permissions: ['*', 'admin:*'] }
      : await call.hub.call('hub:show_token', { token });
    return { hub: call.hub.url, by: SOURCES[source], ...objectOf(facts) };
  },
  text: textPairs,
});

/** The commands about tokens. */
export const tokenCommands: readonly Command[] = [mint, show, list, tokenList, revoke, check, rotateOwner, whoami];

/** Returns the permissions in `--allow`. The option may be repeated, its value may contain commas, and all operands are permissions too. */
function allowed(call: Invocation): readonly string[] {
  const texts = [...call.texts('allow'), ...call.operands].flatMap((text) => text.split(',')).filter((text) => text !== '');
  if (texts.length > 0 || call.text('role') !== undefined) return texts;
  throw usage('--allow is missing: name what the token may do, such as --allow device:control:DEVICE');
}

const FULL_ID = /^[0-9a-f]{32}$/;

async function fullId(call: Invocation): Promise<string> {
  const start = call.operand(0);
  if (FULL_ID.test(start)) return start;
  const ids = objectsIn(await call.hub.call('hub:list_tokens', {}), 'tokens').map(({ token_id: id }) => String(id));
  return resolveIdPrefix(ids, start, { what: 'token', listedBy: 'atmo tokens' });
}

function lifetimeSeconds(text: string): number {
  const seconds = durationSeconds(text, '--ttl');
  if (seconds >= 60 && seconds <= LONGEST_TOKEN_SECONDS) return seconds;
  throw usage(`--ttl takes 1m to 400d, not ${JSON.stringify(text)}`);
}

async function mintParams(call: Invocation): Promise<JsonObject> {
  const agent = call.text('agent');
  if (agent === undefined) throw usage('--agent is missing: name the agent, such as --agent kitchen-assistant');
  const [ttl, rate] = [call.text('ttl'), call.text('rate')];
  const nodes = await Promise.all(call.texts('node').map((node) => hubIdOf(call.hub, node)));
  const permissions = allowed(call);
  return present({
    agent_id: agent,
    permissions: permissions.length > 0 ? permissions : undefined,
    role: call.text('role'),
    ttl_seconds: ttl === undefined ? undefined : lifetimeSeconds(ttl),
    max_hops: call.integer('max-hops'),
    rate_per_minute: rate === undefined ? undefined : ratePerMinute(rate, '--rate'),
    allowed_nodes: nodes.length > 0 ? nodes : undefined,
    key: call.text('key'),
  });
}

/** Returns a sentence for each grant that looks misspelled. Returns none if the caller may not read tools and devices. */
async function grantProblems(hub: Invocation['hub'], permissions: Json | undefined): Promise<readonly string[]> {
  try {
    const [tools, devices] = await Promise.all([allTools(hub, {}), hub.get('/api/v1/devices')]);
    return lintGrants(textsOf(permissions), { tools, devices: objectsIn(devices, 'devices') });
  } catch (error) {
    if (error instanceof AtmoError) return [];
    throw error;
  }
}

function mintNote({ token_id: id, agent_id: agent, expires_at: until }: JsonObject): string {
  return `token ${id} of ${agent}, until ${until}; keep its text, nobody can show it again. "atmo token revoke ${id}" ends it`;
}

/** The client is what an application with access by OAuth calls itself; other tokens have none. */
function tokenRow({ token_id: id, agent_id: agent, client, state, expires_at: until, permissions }: JsonObject): readonly unknown[] {
  return [id, agent, client ?? '-', state, until, permissions];
}

/**
 * Checks by the hub's rules whether grants cover the required permissions. A malformed required permission is never covered. Throws
 * VALIDATION_ERROR if a grant is malformed. Returns a `note` if a permission is missing and a grant for a @type or @area was ignored.
 */
function checkGrants(allow: readonly string[], require: readonly string[]) {
  const grants = allow.map(requireGrant);
  const missing = require.filter((text) => {
    const required = parsePermission(text);
    return required === undefined || !grants.some((grant) => covers(grant, required, NO_GROUPS));
  });
  const isGrouped = missing.length > 0 && grants.some(({ kind }) => kind === 'group' || kind === 'section');
  const note = 'Only a hub knows which devices belong to a @type or @area: those grants count for none here';
  return { allowed: missing.length === 0, missing, note: isGrouped ? note : undefined };
}

interface KnownResources {
  readonly tools: readonly JsonObject[];
  readonly devices: readonly JsonObject[];
}

/** Maximum edit distance between a misspelled word and the intended word. */
const MAX_SLIPS = 2;

/**
 * Returns a sentence for each probable mistake in a grant: an action that no tool requires, but that is similar to a required action; an
 * action without a resource, if tools require it only with a resource; or an unknown device or area. The grant may be for a later device.
 */
export function lintGrants(grants: readonly string[], known: KnownResources): readonly string[] {
  const required = known.tools.flatMap(requiredPermissions);
  const actions = new Set(required.map(actionOf));
  const names = namesOf(known.devices);
  return grants.flatMap((text) => {
    const grant = parseGrant(text);
    return grant === undefined
      ? []
      : [...actionProblem(text, grant, actions), ...resourceProblem(text, grant, required), ...nameProblem(text, grant, names)];
  });
}

function actionProblem(text: string, grant: Grant, actions: ReadonlySet<string>): readonly string[] {
  if (!('action' in grant)) return [];
  const action = `${grant.namespace}:${grant.action}`;
  const [near] = actions.has(action) ? [] : nearestTexts(action, actions, 1);
  if (near === undefined || editDistance(action, near) > MAX_SLIPS) return [];
  return [`${text}: no tool requires ${action}; did you mean ${near}?`];
}

/** Returns a sentence if a grant such as `device:control` has no resource, but tools require permissions such as `device:control:lamp`. */
function resourceProblem(text: string, grant: Grant, required: readonly string[]): readonly string[] {
  const isOfThings = grant.kind === 'action' && !required.includes(text) && required.some((permission) => actionOf(permission) === text);
  return isOfThings ? [`${text}: tools require it of one thing; did you mean ${text}:*?`] : [];
}

function nameProblem(text: string, grant: Grant, { devices, areas }: ReturnType<typeof namesOf>): readonly string[] {
  if (grant.kind === 'group' && grant.group.by === 'area')
    return missing(`${text}: no area ${grant.group.name} is known here`, grant.group.name, areas);
  const isOfDevice = grant.kind === 'resource' && grant.namespace === 'device';
  return isOfDevice ? missing(`${text}: no device ${grant.resource} is known here`, grant.resource, devices) : [];
}

function missing(sentence: string, name: string, known: readonly string[]): readonly string[] {
  if (known.includes(name)) return [];
  const [near] = nearestTexts(name, known, 1);
  return [near === undefined ? sentence : `${sentence}; did you mean ${near}?`];
}

function requiredPermissions({ requires }: JsonObject): readonly string[] {
  return textsOf(objectOf(requires).permissions);
}

const actionOf = (permission: string): string => permission.split(':').slice(0, 2).join(':');

function namesOf(devices: readonly JsonObject[]) {
  return {
    devices: devices.map(({ id }) => String(id)),
    areas: [...new Set(devices.flatMap(({ area }) => (typeof area === 'string' ? [areaKey(area)] : [])))],
  };
}
