import { type JsonObject, objectOf, objectsOf, textsOf, valueAt } from '../../core/json.ts';
import type { HubClient } from '../api/hub-client.ts';
import type { ToolView } from '../api/hub-types.ts';
import { RemoteData } from '../components/remote-data.ts';
import type { NamedOption } from '../components/schema-fields.ts';
import { toolsOf } from './automation-shape.ts';
import type { DefinitionView } from './automation-views.ts';
import { nameOf } from './tool-search.ts';

/** After the last key, the page waits this many milliseconds before it lets the hub read the text. */
const PAUSE_MS = 600;
/** What a new automation begins with. */
const NEW: JsonObject = { trigger: [{ type: 'time', at: '07:00' }], conditions: [], actions: [{ tool: '' }] };

/** A mistake in an automation, in the words of the hub. */
export interface Problem {
  readonly line: number;
  /** JSON Pointer to the part of the configuration that it is about. */
  readonly pointer: string;
  readonly message: string;
}

/** What `hub:convert_automation` makes of a text or a configuration. */
export interface Reading {
  readonly text: string;
  readonly config?: JsonObject;
  readonly problems: readonly Problem[];
  /** Permissions that it needs and that are not given. */
  readonly lacks: readonly string[];
  /** Given permissions that it does not need. */
  readonly unneeded: readonly string[];
  readonly view?: DefinitionView;
}

/** What a person has written: a text, or a configuration by the form. */
type Source = { readonly text: string } | { readonly config: JsonObject };

/** People and modes of the house, which the form offers. */
export interface Household {
  readonly people: readonly NamedOption[];
  readonly flags: readonly string[];
}

/** An automation that a person writes, with what the hub says about it. */
export class AutomationDraft {
  readonly #hub: Pick<HubClient, 'invoke' | 'get'>;
  readonly #onChange: () => void;
  readonly #tools = new Map<string, ToolView>();
  readonly reading: RemoteData<Reading & { readonly source: Source }>;
  #source: Source = { text: '' };
  #permissions: readonly string[] = [];
  /** The automation that is edited; undefined for a new one. */
  #id: string | undefined;
  #household: Household = { people: [], flags: [] };
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(hub: Pick<HubClient, 'invoke' | 'get'>, onChange: () => void) {
    this.#hub = hub;
    this.#onChange = onChange;
    this.reading = new RemoteData(onChange);
  }

  /** The text as the person writes it, or as the hub writes the configuration. */
  get text(): string {
    return 'text' in this.#source ? this.#source.text : (this.reading.value?.text ?? '');
  }

  /** The configuration; undefined if the text cannot be read, or was not read yet. */
  get config(): JsonObject | undefined {
    if ('config' in this.#source) return this.#source.config;
    return this.#isRead ? this.reading.value?.config : undefined;
  }

  /** The mistakes in what was written; none while the hub reads it. */
  get problems(): readonly Problem[] {
    return this.#isRead ? (this.reading.value?.problems ?? []) : [];
  }

  /** The permissions that the automation would have. */
  get permissions(): readonly string[] {
    return [...this.#permissions, ...(this.reading.value?.lacks ?? [])];
  }

  get household(): Household {
    return this.#household;
  }

  /** What would be saved; undefined if it has mistakes, or was not read yet. */
  get definition(): { readonly config: JsonObject; readonly permissions: string[] } | undefined {
    const { config } = this;
    if (!this.#isRead || config === undefined || this.problems.length > 0) return undefined;
    return { config, permissions: [...this.permissions] };
  }

  get #isRead(): boolean {
    return this.reading.value?.source === this.#source && !this.reading.isLoading;
  }

  /** Returns the tool that a call names; undefined if there is none. */
  tool(name: string): ToolView | undefined {
    return this.#tools.get(name);
  }

  /** Remembers a tool that a person has chosen. */
  learn(tool: ToolView): void {
    this.#tools.set(nameOf(tool), tool);
  }

  /** Begins with an automation as it is now, or with a new one. */
  async begin(id: string | undefined): Promise<void> {
    this.stop();
    this.reading.reset();
    this.#permissions = [];
    this.#id = id;
    await this.reading.load(async () => {
      const [present, household] = await Promise.all([this.#show(id), this.#loadHousehold()]);
      this.#permissions = textsOf(present.permissions);
      this.#household = household;
      const source = { config: objectOf(present.config) };
      this.#source = source;
      return this.#convert(source);
    });
  }

  /** Takes a text. The hub reads it as soon as the person pauses. */
  write(text: string): void {
    this.#source = { text };
    this.stop();
    this.#timer = setTimeout(() => void this.refresh(), PAUSE_MS);
    this.#onChange();
  }

  /** Takes a configuration that the form has changed. */
  change(config: JsonObject): void {
    this.#source = { config };
    this.stop();
    void this.refresh();
  }

  /** Takes a permission away that the automation does not need. */
  takeAway(permissions: readonly string[]): void {
    this.#permissions = this.#permissions.filter((one) => !permissions.includes(one));
    void this.refresh();
  }

  /** Continues with the text, which has everything that the form showed. Returns false if the hub did not write it. */
  async toText(): Promise<boolean> {
    await this.settled();
    const { value } = this.reading;
    if (!value || !this.#isRead) return false;
    const source = { text: value.text };
    this.#source = source;
    await this.reading.load(async () => ({ ...value, source }));
    return true;
  }

  /** Resolves when the hub has read what is written now. */
  async settled(): Promise<void> {
    if (this.#isRead) return;
    this.stop();
    await this.refresh();
  }

  /** Ends the wait for a pause. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  async refresh(): Promise<void> {
    const source = this.#source;
    await this.reading.load(() => this.#convert(source));
  }

  async #convert(source: Source): Promise<Reading & { readonly source: Source }> {
    const answer = await this.#hub.invoke('hub:convert_automation', {
      ...source,
      permissions: [...this.#permissions],
      ...(this.#id !== undefined && { replaces: this.#id }),
    });
    const reading = answer as unknown as Reading;
    await this.#loadTools(reading);
    return { ...reading, source };
  }

  async #show(id: string | undefined): Promise<JsonObject> {
    return id === undefined ? { config: NEW } : objectOf(await this.#hub.invoke('show_automation', { agent_id: id }));
  }

  /** Loads the tools that the automation calls, but for those that the hub has just said not to have. */
  async #loadTools({ config = {}, problems }: Reading): Promise<void> {
    const wrong = problems.map(({ pointer }) => valueAt(config, pointer));
    const unknown = toolsOf(config).filter((name) => !this.#tools.has(name) && !wrong.includes(name));
    await Promise.all(unknown.map((name) => this.#loadTool(name)));
  }

  /** Loads a tool. After a failure, the tool is loaded again when the automation is read the next time. */
  async #loadTool(name: string): Promise<void> {
    const tool = await this.#hub.get<ToolView>(`/api/v1/tools/${encodeURIComponent(name)}`).catch(() => undefined);
    if (tool) this.#tools.set(name, tool);
  }

  /** Loads what the person may see of the household. */
  async #loadHousehold(): Promise<Household> {
    const [{ people }, flags] = await Promise.all([
      this.#hub.get<JsonObject>('/api/v1/people').catch(() => ({ people: [] })),
      this.#hub.invoke('list_flags').catch(() => ({ flags: [] })),
    ]);
    return {
      people: objectsOf(people).map(({ name, title }) => ({ value: String(name), title: String(title) })),
      flags: objectsOf(objectOf(flags).flags).map(({ flag }) => String(flag)),
    };
  }
}
