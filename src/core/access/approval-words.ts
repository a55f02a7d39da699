import { isVisible, spelledOut } from '../foreign-text.ts';
import type { Json, JsonObject } from '../json.ts';
import type { ApprovalView, PlannedCall, PlannedProgram } from './approvals.ts';

/** Longest value of a parameter in a sentence; the whole stands in `params`. */
const MAX_SHOWN_LENGTH = 120;
/** More things than these are counted before some of them are named. */
const MAX_TARGETS = 6;
const MAX_NAMES = 12;
const PLAIN = /^[\w.:@/+-]{1,64}$/;
/** A title that reads like nothing but a title. */
const PLAIN_TITLE = /^[\p{L}\p{N}][\p{L}\p{N} ,.'’/()-]{0,119}$/u;
/** What stands for a secret value. */
const SECRET = '[secret]';

type Named = ApprovalView['devices'];

/**
 * What people are asked, in one line: `kitchen wants: Unlock (pin: [secret]) by matter:front_door_unlock@1.0.0, which touches
 * Front door (front-door/1/DoorLock/UnlockDoor)`.
 */
export function approvalSummary({ agent_id: agent, title, tool, params, effects, devices, runs }: ApprovalView): string {
  const steps = runs?.steps?.length ?? 0;
  const work = runs?.program ? `, which runs ${programName(runs.program)}` : steps > 0 ? `, in ${counted(steps, 'step')}` : '';
  const targets = [...new Set(effects.map(({ target }) => target))];
  return `${agent} wants: ${titleText(title)}${inBrackets(params)} by ${tool}${work}, which touches ${touched(targets, devices)}`;
}

/** What will run, one line for the program and each step, with all arguments; empty for a call that has neither. */
export function willDoLines({ runs, devices }: Pick<ApprovalView, 'runs' | 'devices'>): readonly string[] {
  if (!runs) return [];
  return [...(runs.program ? [programLine(runs.program)] : []), ...stepLines(runs, devices, '')];
}

function stepLines({ steps = [] }: PlannedCall, devices: Named, above: string): readonly string[] {
  return steps.flatMap((step, index) => {
    const number = `${above}${index + 1}.`;
    const names = step.targets.flatMap((target) => nameIn(target, devices) ?? []);
    const where = names.length > 0 ? ` on ${some([...new Set(names)])}` : '';
    const what =
      step.definition === '' ? `${shown(step.tool)}, which no tool is called now` : `${titleText(step.title)}${where} by ${step.tool}`;
    const program = step.program ? `. ${programLine(step.program)}` : '';
    return [`${number} ${what}${inBrackets(step.params, whole)}${program}`, ...stepLines(step, devices, number)];
  });
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

function touched(targets: readonly string[], devices: Named): string {
  const names = [...new Set(targets.flatMap((target) => nameIn(target, devices) ?? []))];
  if (targets.length <= MAX_TARGETS) {
    return targets.map((target) => `${nameIn(target, devices) ?? ''} (${target})`.replace(/^ \((.*)\)$/s, '$1')).join(', ');
  }
  if (names.length === 0) return `${targets.length} things: ${some(targets)}`;
  const rest = names.length < devices.length ? '' : ` in ${counted(targets.length, 'place')}`;
  return `${counted(names.length, 'device')}${rest}: ${some(names)}`;
}

function nameIn(target: string, devices: Named): string | undefined {
  const id = target.split('/', 1)[0];
  const name = devices.find((device) => device.id === id)?.name;
  return name === undefined ? undefined : titleText(name);
}

function some(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return more > 0 ? `${names.slice(0, MAX_NAMES).join(', ')} and ${more} more` : names.join(', ');
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

/** A device may have given itself the name that stands in it. */
function titleText(title: string): string {
  return PLAIN_TITLE.test(title) && isVisible(title) ? title : whole(title);
}
