import { canonicalJson } from '../../src/codec/canonical-json.ts';
import { generatePrivateKey } from '../../src/codec/public-key.ts';
import type { Call, SimulatedAgent } from './agents.ts';
import { GUARDED, REPEATABLE } from './device-kinds.ts';
import type { Draw } from './draw.ts';
import { type GivenToken, USABLE_MS } from './ledger.ts';
import { tampered } from './token-links.ts';

/** Time in which an owner has usually decided about a call, in milliseconds. */
const DECIDED_AFTER_MS = 60_000;

/** Answers which say that a hub has taken the proof of the request. */
const TAKEN = new Set([
  'success',
  'APPROVAL_REQUIRED',
  'TOOL_NOT_FOUND',
  'PERMISSION_DENIED',
  'RULE_BLOCKED',
  'OUTCOME_UNKNOWN',
  'TIMEOUT',
]);

/** Something that an agent does and no hub may let happen. */
type Misdeed = (agent: SimulatedAgent, token: GivenToken) => Promise<unknown>;

const MISDEEDS: readonly Misdeed[] = [
  (agent, token) =>
    agent.attempt(agent.newCall(), { token: { ...token, text: forged(token.text, agent.draw) }, forbidden: 'the token was forged' }),
  (agent, token) => agent.attempt(agent.newCall(), { token: { ...token, text: cut(token.text) }, forbidden: 'the token was cut' }),
  (agent, token) => agent.attempt(agent.newCall(), { token: agent.formerTokens.at(-1) ?? token }),
  useTampered,
  useTampered,
  useDisabled,
  stealToken,
  replayProof,
  repeatChanged,
  useApprovalForAnother,
  useApprovalTwice,
  useApprovalLate,
  useHourOfOtherToken,
];

/** Does something that no hub may let happen. */
export async function misbehave(agent: SimulatedAgent, token: GivenToken): Promise<void> {
  await agent.draw.pick(MISDEEDS)(agent, token);
}

/** Calls with a token that nobody has signed so. */
async function useTampered(agent: SimulatedAgent, token: GivenToken): Promise<void> {
  const { text, forbidden } = tampered(token, agent.formerTokens, agent.draw);
  await agent.attempt(agent.newCall(), { token: { ...token, text }, forbidden });
}

/** Calls a tool that the configuration of its hub disables. */
async function useDisabled(agent: SimulatedAgent, token: GivenToken): Promise<void> {
  const { tool, ...call } = agent.newCall(REPEATABLE);
  const disabled = { ...call, tool: tool.replace(REPEATABLE, 'siren') };
  await agent.attempt(disabled, { token, forbidden: 'the configuration disables the tool' });
}

/** Calls with a token that is bound to a key, without that key. */
async function stealToken(agent: SimulatedAgent, token: GivenToken): Promise<void> {
  if (!token.key) return;
  const { key, ...stolen } = token;
  const other = { ...stolen, ...(agent.draw.chance(0.5) && { key: generatePrivateKey() }) };
  await agent.attempt(agent.newCall(), { token: other, forbidden: 'its bearer does not have the key' });
}

/** Makes a call, and another one with the same proof of possession. */
async function replayProof(agent: SimulatedAgent, token: GivenToken): Promise<void> {
  if (!token.key) return;
  const call = agent.newCall();
  const outcome = await agent.attempt(call, { token });
  if (!TAKEN.has(outcome)) return;
  const { lastProof: proof } = agent;
  if (proof !== undefined) await agent.attempt({ ...call, key: `${call.key}-again` }, { token, proof, forbidden: 'its proof was used' });
}

/** Repeats the last call under its key, with other parameters. */
async function repeatChanged(agent: SimulatedAgent, token: GivenToken): Promise<void> {
  const last = agent.lastCall;
  if (!last?.hasKey) return;
  await agent.attempt(last, { token });
  await agent.attempt({ ...last, params: canonicalJson({ value: 1_000 }) }, { token });
}

/** Asks for a call, and makes another one as soon as people may have approved the first one. */
async function useApprovalForAnother(agent: SimulatedAgent, token: GivenToken): Promise<void> {
  const asked = await ask(agent, token);
  if (!asked) return;
  const other = { ...asked, params: canonicalJson({ value: 2_000 + agent.draw.index(1_000_000) }) };
  await agent.attempt({ ...other, key: `${asked.key}-other` }, { token });
  await agent.attempt(other, { token });
  await agent.attempt({ ...asked, tool: agent.newCall(GUARDED).tool, key: `${asked.key}-elsewhere` }, { token });
}

/** Makes the approved call twice at once, under two keys. */
async function useApprovalTwice(agent: SimulatedAgent, token: GivenToken): Promise<void> {
  const asked = await ask(agent, token);
  if (!asked) return;
  const both = ['a', 'b'].map((end) => agent.attempt({ ...asked, key: `${asked.key}-${end}` }, { token }));
  await Promise.all(both);
}

/** Makes the approved call about when the approval ends. */
async function useApprovalLate(agent: SimulatedAgent, token: GivenToken): Promise<void> {
  const asked = await ask(agent, token);
  if (!asked) return;
  await agent.client.pause(agent.draw.between(USABLE_MS - 2 * DECIDED_AFTER_MS, USABLE_MS + 30_000));
  await agent.attempt(asked, { token });
}

/** Makes the approved call again with another token of the same agent, for which an hour does not hold. */
async function useHourOfOtherToken(agent: SimulatedAgent, token: GivenToken): Promise<void> {
  const { otherToken } = agent;
  const asked = otherToken && (await ask(agent, token));
  if (!asked) return;
  for (let tries = 0; tries < 4 && (await agent.attempt(asked, { token })) !== 'success'; tries++) await agent.rest(DECIDED_AFTER_MS);
  await agent.attempt({ ...asked, key: `${asked.key}-other` }, { token: otherToken });
}

/** Makes a call that people have to approve, and waits until they may have done so. Returns undefined if they were not asked. */
async function ask(agent: SimulatedAgent, token: GivenToken): Promise<Call | undefined> {
  // Nobody else asks for this value.
  const params = canonicalJson({ value: 2_000 + agent.draw.index(1_000_000) });
  const call = { ...agent.newCall(GUARDED), params, isJob: false, hasKey: true, waits: false };
  if ((await agent.attempt(call, { token })) !== 'APPROVAL_REQUIRED') return undefined;
  await agent.rest(DECIDED_AFTER_MS);
  return call;
}

function forged(text: string, draw: Draw): string {
  const at = 4 + draw.index(text.length - 4);
  const other = text[at] === 'A' ? 'B' : 'A';
  return `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
}

function cut(text: string): string {
  const dot = text.lastIndexOf('.');
  return text.slice(0, dot > 4 ? dot : -8);
}
