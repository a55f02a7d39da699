import { askQuestion } from '../calls/tool-context.ts';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import type { ToolCatalogue } from '../http/tool-catalogue.ts';
import type { VisibleHome } from '../http/visible-home.ts';
import type { CompanionPrompt } from '../tools/definition/tool-definition.ts';
import { resolveArea } from '../tools/names/resolve-names.ts';
import type { InteractiveCalls } from './calls/interactive-calls.ts';
import type { McpCaller, McpFeature } from './mcp-feature.ts';
import { listPage } from './pagination.ts';
import type { HomeResources } from './resources/home-resources.ts';

interface PromptFeatureParts {
  readonly sources: readonly PromptSource[];
  readonly interactive: InteractiveCalls;
}

/** Returns `prompts/list` and `prompts/get`. */
export function promptFeature({ sources, interactive }: PromptFeatureParts): McpFeature {
  return {
    capabilities: { prompts: {} },
    methods: {
      'prompts/list': async ({ cursor }, caller) => listPrompts(sources, caller, cursor),
      'prompts/get': (params, caller) => {
        const { name, arguments: given } = params;
        const subject = { name: 'prompts/get', params: { name: name ?? null, given: given ?? null } };
        return interactive.answer(subject, caller, (asked) => promptOf(sources, params, asked));
      },
    },
  };
}

function listPrompts(sources: readonly PromptSource[], caller: McpCaller, cursor: Json | undefined): JsonObject {
  const all = sources.flatMap((source) => source.list(caller));
  const { items, nextCursor } = listPage(all, ({ name }) => name, cursor);
  const prompts = items.map((entry) => ({ ...entry, arguments: entry.arguments.map((argument) => ({ ...argument })) }));
  return { prompts, ...(nextCursor !== undefined && { nextCursor }) };
}

async function promptOf(sources: readonly PromptSource[], params: JsonObject, caller: McpCaller): Promise<JsonObject> {
  const { name, arguments: given = {} } = params;
  for (const source of sources) {
    const entry = source.list(caller).find((known) => known.name === name);
    if (!entry) continue;
    const messages = await source.messages(entry.name, checkedArguments(entry, given), caller);
    return { description: entry.description, messages: messages.map((message) => ({ ...message })) };
  }
  throw new AtmoError('NOT_FOUND', `There is no prompt ${JSON.stringify(String(name).slice(0, 80))}; prompts/list tells what there is`);
}

function checkedArguments({ name, arguments: known }: PromptEntry, given: Json): PromptArguments {
  const texts = isJsonObject(given) ? Object.entries(given) : [];
  const problem = texts.find(([argument, value]) => typeof value !== 'string' || !known.some((one) => one.name === argument));
  if (problem || !isJsonObject(given)) {
    const names = known.map((argument) => argument.name).join(', ') || 'none';
    throw new AtmoError(
      'VALIDATION_ERROR',
      `${name} takes texts by name: ${names}${problem ? `; ${JSON.stringify(problem[0])} is none` : ''}`,
    );
  }
  const missing = known.find((argument) => argument.required && (given[argument.name] ?? '') === '');
  if (!missing) return Object.fromEntries(texts.map(([argument, value]) => [argument, String(value)]));
  throw new AtmoError('VALIDATION_ERROR', `${name} needs ${missing.name}: ${missing.description}`, { parameter: missing.name });
}

interface PromptArgument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
}

/** A prompt in the result of `prompts/list`. */
interface PromptEntry {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly PromptArgument[];
}

/** A message of a prompt. `content` is an MCP content block. */
interface PromptMessage {
  readonly role: 'user' | 'assistant';
  readonly content: JsonObject;
}

/** Arguments of a prompt by name. They are not checked yet. */
type PromptArguments = Readonly<Record<string, string>>;

/** Port: a source of prompts. It offers only prompts that the caller may see. */
export interface PromptSource {
  /** Returns the prompts in a fixed order. */
  list(caller: McpCaller): readonly PromptEntry[];
  /** Returns the messages of a listed prompt. `given` has all required arguments. Throws VALIDATION_ERROR if an argument is invalid. */
  messages(name: string, given: PromptArguments, caller: McpCaller): Promise<readonly PromptMessage[]>;
  /** Returns possible values for an argument. Returns undefined if the prompt or the argument belongs to another source. */
  values(name: string, argument: string, caller: McpCaller): readonly string[] | undefined;
}

const TIMES = ['24h', '7d', '30d'];

interface HomePromptParts {
  readonly home: VisibleHome;
  readonly resources: Pick<HomeResources, 'areas' | 'devices'>;
}

/** Offers common tasks at home as prompts. */
export class HomePrompts implements PromptSource {
  readonly #home: VisibleHome;
  readonly #resources: HomePromptParts['resources'];

  constructor({ home, resources }: HomePromptParts) {
    this.#home = home;
    this.#resources = resources;
  }

  list(): readonly PromptEntry[] {
    return CHORES.map(({ name, title, description, arguments: known }) => ({
      name,
      title,
      description,
      arguments: known.map(({ of: _of, ...argument }) => argument),
    }));
  }

  async messages(name: string, given: PromptArguments, caller: McpCaller): Promise<readonly PromptMessage[]> {
    const chore = CHORES.find((known) => known.name === name);
    if (!chore) return [];
    const checked = chore.arguments.map(
      (argument) => [argument.name, this.#checked(argument, given[argument.name] ?? '', caller)] as const,
    );
    return [{ role: 'user', content: { type: 'text', text: chore.text(Object.fromEntries(checked)) } }];
  }

  values(name: string, argument: string, caller: McpCaller): readonly string[] | undefined {
    const kind = CHORES.find((known) => known.name === name)?.arguments.find((known) => known.name === argument)?.of;
    const { names } = this.#home;
    if (kind === 'area') return this.#resources.areas(caller).flatMap((area) => [area, ...names.areaNames(area).aliases]);
    if (kind === 'device') return this.#resources.devices(caller).flatMap(({ id, name }) => [name, id, ...names.deviceAliases(id)]);
    if (kind === 'time') return TIMES;
    return kind && [];
  }

  /** Returns the argument in quotation marks, so that a model takes it as data. Throws an error if the area or device is unknown. */
  #checked({ of: kind }: Chore['arguments'][number], text: string, caller: McpCaller): string {
    if (text === '') return '';
    if (kind === 'device') return JSON.stringify(this.#home.device(caller.principal, text).id);
    if (kind === 'area') return JSON.stringify(resolveArea(text, this.#resources.areas(caller), this.#home.names));
    return JSON.stringify(text.slice(0, 200));
  }
}

/** The prompts of plug-ins. A caller sees a prompt only if it may call the prompt's tool. */
export class PluginPrompts implements PromptSource {
  readonly #catalogue: Pick<ToolCatalogue, 'all'>;

  constructor({ catalogue }: { readonly catalogue: Pick<ToolCatalogue, 'all'> }) {
    this.#catalogue = catalogue;
  }

  list(caller: McpCaller): readonly PromptEntry[] {
    return this.#all(caller).map(({ name, title, description, arguments: known }) => ({
      name,
      title,
      description,
      arguments: known.map(({ values: _values, ...argument }) => argument),
    }));
  }

  async messages(name: string, given: PromptArguments, caller: McpCaller): Promise<readonly PromptMessage[]> {
    return this.#named(name, caller)?.messages(given, { ask: (question) => askQuestion(question, caller) }) ?? [];
  }

  values(name: string, argument: string, caller: McpCaller): readonly string[] | undefined {
    const known = this.#named(name, caller)?.arguments.find((one) => one.name === argument);
    return known && (known.values ?? []);
  }

  #named(name: string, caller: McpCaller): CompanionPrompt | undefined {
    return this.#all(caller).find((prompt) => prompt.name === name);
  }

  #all({ principal }: McpCaller): readonly CompanionPrompt[] {
    return this.#catalogue.all(principal).flatMap(({ companions }) => companions?.prompts ?? []);
  }
}

/** An argument of a task. `of` is the kind of object that it names. */
interface ChoreArgument extends PromptArgument {
  readonly of: 'area' | 'device' | 'time' | 'text';
}

/** A common task at home, described to a model. */
interface Chore {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly ChoreArgument[];
  /** Returns the text for the model. Arguments are quoted; absent arguments are empty. */
  text(given: Readonly<Record<string, string>>): string;
}

const area = (required: boolean): ChoreArgument => ({ name: 'area', description: 'Room or other area of the home', required, of: 'area' });
const HOW =
  'Find out what is there with home_overview, search_tools and the resources of this server before you act. Use the ids that you found, ' +
  'never guess one. What waits for the approval of a person stays as it is until the person agrees: say so, and go on with the rest.';
const where = (name: string | undefined): string => (name ? ` in ${name}` : ' at home');

/** The tasks, in the order in which they are listed. */
const CHORES: readonly Chore[] = [
  {
    name: 'good_night',
    title: 'Good night',
    description: 'Puts the home to sleep: lights off, covers closed, heating down; tells what is still open or unlocked',
    arguments: [{ name: 'keep_on', description: 'What stays as it is, in words', required: false, of: 'text' }],
    text: ({ keep_on: keep }) =>
      `Put the home to sleep for the night. Turn off the lights, close the covers, and lower the heating where it can be lowered.${keep ? ` Leave as it is: ${keep}.` : ''} ` +
      `Do not unlock anything. Then tell in a few lines what you changed, and which doors or windows are open, which locks are not locked, and what you could not reach. ${HOW}`,
  },
  {
    name: 'morning_briefing',
    title: 'Morning briefing',
    description: 'A short report of the night: temperatures, air, open doors and windows, low batteries, devices that do not answer',
    arguments: [area(false)],
    text: ({ area: name }) =>
      `Give me a short morning briefing of what happened${where(name)} during the last 12 hours: temperatures and air, doors and windows that are open, ` +
      `low batteries, alarms, devices that do not answer. Begin with what needs attention; change nothing. ${HOW}`,
  },
  {
    name: 'leaving_home',
    title: 'Leaving home',
    description: 'Checks and prepares the home for being away: lights and appliances off, heating down, what is open or unlocked',
    arguments: [{ name: 'until', description: 'When somebody is back, such as 18:00 or Sunday', required: false, of: 'text' }],
    text: ({ until }) =>
      `I am leaving home${until ? ` until ${until}` : ''}. Turn off lights and appliances that need not run, lower the heating, and lock what can be locked. ` +
      `Then tell what is still open, on or unlocked, so that I can see to it before I go. ${HOW}`,
  },
  {
    name: 'energy_report',
    title: 'Energy report',
    description: 'What used how much power over a time, what runs for nothing, and what could be saved',
    arguments: [{ name: 'since', description: 'How far back, such as 24h or 7d', required: false, of: 'time' }],
    text: ({ since }) =>
      `Report the use of energy over the last ${since || '"24h"'}: read the history of each power and energy sensor in buckets, name the biggest users and their share, ` +
      `what was on without need, and what could be saved. Give numbers with units, and say which devices measure nothing. Change nothing. ${HOW}`,
  },
  {
    name: 'anything_unusual',
    title: 'Anything unusual?',
    description: 'Looks for what is not as it usually is: values out of the ordinary, devices that do not answer, things left on or open',
    arguments: [area(false)],
    text: ({ area: name }) =>
      `Is anything unusual${where(name)}? Compare the present readings with their history of the last 7 days, look for devices that do not answer, ` +
      `values that have not moved although they should, and what was left on or open. Name each finding with the numbers behind it; say it plainly when there is none. Change nothing. ${HOW}`,
  },
  {
    name: 'room_comfort',
    title: 'Make a room comfortable',
    description: 'Looks at temperature, humidity, air and light of a room and improves what can be improved',
    arguments: [area(true)],
    text: ({ area: name }) =>
      `Make it comfortable in ${name}: look at temperature, humidity, air and light, say what is off and why, then set what can be set with small steps. ` +
      `Tell what you changed and from what to what. ${HOW}`,
  },
  {
    name: 'device_checkup',
    title: 'Check a device',
    description: 'Why does it not work: reachability, age of its values, battery, recent failures, and what to try next',
    arguments: [{ name: 'device', description: 'Id or name of the device', required: true, of: 'device' }],
    text: ({ device }) =>
      `Check the device ${device}: does it answer, how old are its values, how is its battery, what failed lately? Try nothing that changes its state without interactive me. ` +
      `Say in plain words what is wrong and what I can do, in order. ${HOW}`,
  },
];
