import { BrokenInvariant } from '../broken-invariant.ts';
import type { Effect } from '../ledger.ts';

/** A definition that an agent has proposed. */
export interface ProposedDefinition {
  readonly proposalId: string;
  /** The parameters of its call, which no other definition has. */
  readonly params: string;
  /** The definition in whose place it would be, as it was when this was proposed. */
  readonly replaces: ProposedDefinition | undefined;
  /** Whether a person has begun to accept it as it was shown. It may live from then on, since the answer of the hub may be lost. */
  isAccepted: boolean;
  /** When it was answered that it has ended, or another one has taken its place. Milliseconds of the world. */
  endedMs?: number;
}

/** An automation that was made of a proposal, or may be. */
export interface ProposedAutomation {
  readonly machine: string;
  readonly agent: string;
  readonly definitions: ProposedDefinition[];
  /** The definition that lives by the last answer. */
  present?: ProposedDefinition | undefined;
  /** An answer was lost or a file damaged, so another definition may live. */
  isUnsure: boolean;
}

/** Checks that a proposed automation may call its device now. Throws BrokenInvariant. */
export function checkProposedCall(
  { agent, definitions }: ProposedAutomation,
  { params, trace }: Omit<Effect, 'atMs'>,
  nowMs: number,
): void {
  const definition = definitions.find((one) => one.params === params);
  const fail: (problem: string) => never = (problem) =>
    failProposal(`${agent} called with ${params} at ${nowMs} ms, ${problem}`, [agent, trace]);
  if (!definition) fail('which nobody has proposed for it');
  if (!definition.isAccepted) fail('and nobody has accepted that');
  if ((definition.endedMs ?? nowMs) < nowMs) fail(`although that had ended at ${definition.endedMs} ms`);
}

/** The answer is there that a definition lives. Throws BrokenInvariant if the one that it replaces was another one when a person saw it. */
export function checkAccepted(automation: ProposedAutomation, definition: ProposedDefinition, nowMs: number): void {
  const { present, isUnsure, definitions, agent } = automation;
  if (definition.replaces !== present && !isUnsure)
    failProposal(`${definition.proposalId} was accepted, though ${agent} was another one when it was proposed`, [definition.proposalId]);
  for (const one of definitions) if (one !== definition && one.isAccepted) one.endedMs ??= nowMs;
  automation.present = definition;
}

/** The hub of a machine may have lost which definitions live. */
export function forgetEnds(automations: Iterable<ProposedAutomation>, machine: string): void {
  for (const automation of automations) {
    if (automation.machine !== machine) continue;
    automation.isUnsure = true;
    for (const definition of automation.definitions) delete definition.endedMs;
  }
}

/** An answer to a proposal was taken that no hub may take. */
export function failProposal(problem: string, concerns: readonly string[]): never {
  throw new BrokenInvariant('what is proposed lives only as a person has accepted it', problem, concerns);
}
