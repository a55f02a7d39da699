import { deviceElement, nameText, readsIn, targetWords, verbOf } from '../devices/action-words.ts';
import { spelledOut } from '../foreign-text.ts';
import type { Json, JsonObject } from '../json.ts';
import type { ApprovalView, PlannedCall, PlannedProgram } from './approvals.ts';

/** Longest value of a parameter in a sentence; the whole stands in `params`. */
const MAX_SHOWN_LENGTH = 120;
const PLAIN = /^[\w.:@/+-]{1,64}$/;
/** What stands for a secret value. */
const SECRET = '[secret]';

type Named = ApprovalView['devices'];

/** What people are asked, in one line: `kitchen wants: Unlock Front door (hall) (pin: [secret])`. Ids stand in the request's members. */
export function approvalSummary({ agent_id: agent, effects, devices, runs, ...call }: ApprovalView): string {
  const steps = runs?.steps?.length ?? 0;
  const work = runs?.program ? `, which runs ${programName(runs.program)}` : steps > 0 ? `, in ${counted(steps, 'step')}` : '';
  const targets = effects.map(({ target }) => target);
  return `${agent} wants: ${wish({ ...call, targets, reads: [...readsIn(effects)] }, { devices, work, wording: shown })}`;
}

/** What will run, one line for the program and each step, with all arguments; empty for a call that has neither. */
export function willDoLines({ runs, devices }: Pick<ApprovalView, 'runs' | 'devices'>): readonly string[] {
  if (!runs) return [];
  return [...(runs.program ? [programLine(runs.program)] : []), ...stepLines(runs, devices, '')];
}

function stepLines({ steps = [] }: PlannedCall, devices: Named, above: string): readonly string[] {
  return steps.flatMap((step, index) => {
    const number = `${above}${index + 1}.`;
    const what =
      step.definition === ''
        ? `${shown(step.tool)}, which no tool is called now${inBrackets(step.params, whole)}`
        : wish(step, { devices, work: '', wording: whole });
    const program = step.program ? `. ${programLine(step.program)}` : '';
    return [`${number} ${what}${program}`, ...stepLines(step, devices, number)];
  });
}

/**
 * What a call does, with its arguments. Its title is left out where the words for its effects say the same, and its id where it names
 * what it touches: a title says what the author of a tool wants it to say, and effects are what it does.
 */
function wish(
  { title, tool, params, targets, reads }: Pick<PlannedCall, 'title' | 'tool' | 'params' | 'targets' | 'reads'>,
  { devices, work, wording }: { readonly devices: Named; readonly work: string; readonly wording: (value: Json) => string },
): string {
  const { does, touches } = targetWords(
    targets.filter((target) => target !== tool),
    devices,
    new Set(reads),
  );
  const isRaw = isRawCall(params, targets);
  const given = inBrackets(furtherParams(params, { targets, devices, isRaw }), wording);
  if (does !== '' && touches === '' && work === '' && (isRaw || isVerbOfAll(title, targets))) return `${does}${given}`;
  const ways = [...(does === '' ? [] : [`does this: ${does}`]), ...(touches === '' ? [] : [`touches ${touches}`])];
  const named = `${nameText(title)}${given}`;
  return ways.length === 0 ? `${named} by ${tool}${work}` : `${named}${work}${work === '' ? ', which ' : '; it '}${ways.join(', and ')}`;
}

/** True where the parameters name the cluster and the command or attribute that all targets are. */
function isRawCall({ cluster, command, attribute }: JsonObject, targets: readonly string[]): boolean {
  const elements = targets.map(deviceElement);
  return elements.length > 0 && elements.every((one) => one && one.cluster === cluster && one.element === (command ?? attribute));
}

function isVerbOfAll(title: string, targets: readonly string[]): boolean {
  return targets.map(deviceElement).every((element) => element && verbOf(element)?.toLowerCase() === title.toLowerCase());
}

/** Parameters that say more than the words for the targets do. */
function furtherParams(
  params: JsonObject,
  { targets, devices, isRaw }: { readonly targets: readonly string[]; readonly devices: Named; readonly isRaw: boolean },
): JsonObject {
  const isNamed = (id: Json) => devices.some((device) => device.id === id) && targets.some((target) => target.split('/', 1)[0] === id);
  const isSaid = (name: string, value: Json) =>
    (name === 'device_id' && isNamed(value)) ||
    (isRaw && ['cluster', 'command', 'attribute'].includes(name)) ||
    (isRaw && (name === 'endpoint' || (name === 'params' && JSON.stringify(value) === '{}')));
  return Object.fromEntries(Object.entries(params).filter(([name, value]) => !isSaid(name, value)));
}

function programLine({ args, cwd, powers, ...program }: PlannedProgram): string {
  const given = args.length > 0 ? ` with ${args.map(whole).join(' ')}` : '';
  const where = cwd === undefined ? '' : ` in ${whole(cwd)}`;
  const may = powers.flatMap(({ name, allows }) => allows.map((power) => `${power} (${name})`));
  return `Runs ${programName(program)}${given}${where}. It may ${may.length > 0 ? may.join(', ') : 'reach nothing of the home'}`;
}

function programName({ kind, program }: Pick<PlannedProgram, 'kind' | 'program'>): string {
  return `the ${kind === 'cmd' ? 'program' : kind} ${whole(program)}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function inBrackets(params: JsonObject, wording: (value: Json) => string = shown): string {
  const given = Object.entries(params).map(([name, value]) => `${shown(name)}: ${wording(value)}`);
  return given.length > 0 ? ` (${given.join(', ')})` : '';
}

/** Quoted unless it is one plain word: what an agent writes into a parameter must not read like part of the sentence. */
function shown(value: Json): string {
  const text = whole(value);
  const hidden = text.length - MAX_SHOWN_LENGTH;
  return hidden <= 0 ? text : `${text.slice(0, MAX_SHOWN_LENGTH)}… and ${hidden} characters more, see params`;
}

/** The same without an end: what runs is never cut. */
function whole(value: Json): string {
  if (value === SECRET || (typeof value === 'string' && PLAIN.test(value))) return String(value);
  return spelledOut(JSON.stringify(value));
}
