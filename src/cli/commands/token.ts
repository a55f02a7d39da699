import { LONGEST_TOKEN_SECONDS } from '../../core/access/token-authority.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { commandOf } from '../device-verbs.ts';
import { durationSeconds, ratePerMinute } from '../duration.ts';
import { grantCheck } from '../grant-check.ts';
import { lintGrants } from '../grant-lint.ts';
import { idThatBegins, objectsIn } from '../hub/json-list.ts';
import { hubIdOf } from '../mesh-facts.ts';
import { findCredential, isOwnersToken } from '../state-dir.ts';
import { readInput } from '../terminal/text-input.ts';
import { textPairs, textTable } from '../terminal/text-table.ts';
import { allTools } from '../tool-pages.ts';

const ALLOW = { value: 'PERMISSION', help: 'what it may do, such as device:control:DEVICE; may be repeated', isRepeated: true } as const;
const MORE = { name: 'PERMISSION', help: 'more of what --allow began', isOptional: true, isRepeated: true } as const;

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
    const facts = isJsonObject(minted) ? minted : {};
    call.output.answer(minted, () => `${facts.token}\n`);
    if (call.output.isJson) return undefined;
    for (const problem of await grantProblems(call.hub, params.permissions)) call.output.note(problem);
    call.output.note(mintNote(facts));
    return undefined;
  },
};

const show: Command = {
  name: 'token show',
  summary: 'what a token says and whether it still holds',
  examples: ['token show @helper.token'],
  operands: [{ name: 'TOKEN', help: 'the text of the token, @FILE, or - for stdin' }],
  async run(call) {
    const given = call.operand(0);
    if (/^at[01]\./.test(given)) call.output.note('A token on the command line can be read by every user of this machine; use - or @FILE');
    const facts = await call.hub.call('hub:show_token', { token: await readInput(given, call.io) });
    call.output.answer(facts, () => (isJsonObject(facts) ? textPairs(facts) : ''));
    return undefined;
  },
};

const list: Command = {
  name: 'tokens',
  summary: 'the tokens that this hub made',
  examples: ['tokens'],
  async run(call) {
    const answer = await call.hub.call('hub:list_tokens', {});
    const tokens = isJsonObject(answer) ? objectsIn(answer, 'tokens') : [];
    call.output.answer(answer, () => textTable(['TOKEN', 'AGENT', 'STATE', 'UNTIL', 'MAY'], tokens.map(tokenRow)));
    return undefined;
  },
};

/** Beside its brothers, where people look for it. */
const tokenList: Command = { ...list, name: 'token list', examples: ['token list'] };

const revoke = commandOf({
  name: 'token revoke',
  summary: 'end a token and all that come from it',
  examples: ['token revoke 0b6c'],
  tool: 'hub:revoke_token',
  operands: [
    {
      name: 'ID',
      help: 'id of the token, as atmo tokens lists it; its first characters are enough where they fit one',
      completes: 'token',
    },
  ],
  params: async (call) => ({ token_id: await fullId(call) }),
  sentence: ({ revoked }, call) =>
    revoked === true ? `token ${call.operand(0)} is revoked, with all that came from it` : `token ${call.operand(0)} was revoked before`,
});

const rotateOwner = commandOf({
  name: 'token rotate-owner',
  summary: "replace the owner's token; the old one ends at once",
  examples: ['token rotate-owner'],
  tool: 'hub:rotate_owner',
  params: () => ({}),
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
    const verdict = grantCheck(allowed(call), required);
    call.output.answer(verdict, () => (verdict.allowed ? 'yes\n' : `no: ${verdict.missing.join(', ')}\n`));
    if (verdict.note !== undefined) call.output.note(verdict.note);
    return verdict.allowed ? undefined : 3;
  },
};

/** Where the token of this command line is from, in words. */
const SOURCES = { environment: 'ATMO_TOKEN', login: 'atmo login', owner: "the owner's token of this machine" } as const;

const whoami: Command = {
  name: 'whoami',
  summary: 'as whom these commands speak to the hub, and what that allows',
  examples: ['whoami'],
  async run(call) {
    const credential = findCredential(call.io.env);
    if (!credential) throw new AtmoError('UNAUTHENTICATED', 'Nobody: there is no token; log in with "atmo login", or set ATMO_TOKEN');
    const { token, source } = credential;
    const facts = isOwnersToken(token)
      ? { agent_id: 'owner', permissions: ['*', 'admin:*'] }
      : await call.hub.call('hub:show_token', { token });
    const answer = { hub: call.hub.url, by: SOURCES[source], ...(isJsonObject(facts) && facts) };
    call.output.answer(answer, () => textPairs(answer));
    return undefined;
  },
};

/** Tokens: made, looked at, ended. */
export const tokenCommands: readonly Command[] = [mint, show, list, tokenList, revoke, check, rotateOwner, whoami];

/** What `--allow` says, however it was written: repeated, as words that follow, or with commas. */
function allowed(call: Invocation): readonly string[] {
  const texts = [...call.texts('allow'), ...call.operands].flatMap((text) => text.split(',')).filter((text) => text !== '');
  if (texts.length > 0 || call.text('role') !== undefined) return texts;
  throw usage('--allow is missing: name what the token may do, such as --allow device:control:DEVICE');
}

const FULL_ID = /^[0-9a-f]{32}$/;

async function fullId(call: Invocation): Promise<string> {
  const start = call.operand(0);
  if (FULL_ID.test(start)) return start;
  const answer = await call.hub.call('hub:list_tokens', {});
  const ids = (isJsonObject(answer) ? objectsIn(answer, 'tokens') : []).map(({ token_id: id }) => String(id));
  return idThatBegins(ids, start, { what: 'token', listedBy: 'atmo tokens' });
}

function lifetimeSeconds(text: string): number {
  const seconds = durationSeconds(text, '--ttl');
  if (seconds >= 60 && seconds <= LONGEST_TOKEN_SECONDS) return seconds;
  throw usage(`--ttl takes 1m to 400d, not ${JSON.stringify(text)}`);
}

async function mintParams(call: Invocation): Promise<JsonObject> {
  const agent = call.text('agent');
  if (agent === undefined) throw usage('--agent is missing: name the agent, such as --agent kitchen-assistant');
  const [role, ttl, rate, key] = ['role', 'ttl', 'rate', 'key'].map((option) => call.text(option));
  const maxHops = call.integer('max-hops');
  const nodes = await Promise.all(call.texts('node').map((node) => hubIdOf(call.hub, node)));
  const permissions = allowed(call);
  return {
    agent_id: agent,
    ...(permissions.length > 0 && { permissions }),
    ...(role !== undefined && { role }),
    ...(ttl !== undefined && { ttl_seconds: lifetimeSeconds(ttl) }),
    ...(maxHops !== undefined && { max_hops: maxHops }),
    ...(rate !== undefined && { rate_per_minute: ratePerMinute(rate, '--rate') }),
    ...(nodes.length > 0 && { allowed_nodes: nodes }),
    ...(key !== undefined && { key }),
  };
}

/** What looks misspelled, as far as the caller may know what there is. */
async function grantProblems(hub: Invocation['hub'], permissions: Json | undefined): Promise<readonly string[]> {
  if (!Array.isArray(permissions)) return [];
  try {
    const [tools, devices] = await Promise.all([allTools(hub, {}), hub.get('/api/v1/devices')]);
    return lintGrants(permissions.map(String), { tools, devices: objectsIn(devices, 'devices') });
  } catch (error) {
    if (error instanceof AtmoError) return [];
    throw error;
  }
}

function mintNote({ token_id: id, agent_id: agent, expires_at: until }: JsonObject): string {
  return `token ${id} of ${agent}, until ${until}; keep its text, nobody can show it again. "atmo token revoke ${id}" ends it`;
}

function tokenRow({ token_id: id, agent_id: agent, state, expires_at: until, permissions }: JsonObject): readonly unknown[] {
  return [id, agent, state, until, permissions];
}
