import { consentSubject } from '../../core/auth/people.ts';
import { isAnswerAddress, isOnThisMachine } from '../../core/auth/redirect-address.ts';
import type { JsonObject } from '../../core/json.ts';
import { text } from '../texts/text.ts';
import { type HubClient, HubError, messageOf } from './hub-client.ts';
import { Observable } from './observable.ts';

const DAY_MS = 86_400_000;
const MOST_SKEW_MS = 7_200_000;
/** The lifetimes to choose from, in days. */
export const CONSENT_DAYS = { day: 1, week: 7, month: 30, quarter: 90, year: 365 } as const;
export type ConsentLife = keyof typeof CONSENT_DAYS;

/** The application that asks. The texts come from the application, so they are data: anybody can register under any name. */
export interface AuthorizationClient {
  readonly name: string;
  /** The host of the client's metadata document; for a registered client, that of its redirect address, if it has one. */
  readonly host?: string | null;
  readonly kind: 'metadata_document' | 'registered';
  /** ISO 8601. */
  readonly registered_at?: string;
}

/** What this person can choose. */
export interface ConsentChoices {
  readonly areas: readonly { readonly slug: string; readonly name: string }[];
  /** Families of devices, without locks and valves. The choice `all` means those that are harmless. */
  readonly kinds: readonly { readonly id: string; readonly is_harmless: boolean }[];
  readonly can_lock: boolean;
  readonly can_valve: boolean;
  readonly can_admin: boolean;
  /** The end that is chosen first and the latest end of the grant, ISO 8601. */
  readonly default_until: string;
  readonly max_until: string;
}

/** What the person chose, as the hub takes it. `until` is ISO 8601. */
export interface ConsentChoice {
  readonly areas: 'all' | readonly string[];
  readonly kinds: 'all' | readonly string[];
  readonly control: boolean;
  readonly readings: boolean;
  readonly locks: boolean;
  readonly valves: boolean;
  readonly administration: boolean;
  readonly until: string;
}

/** A request for authorization that waits for the person. */
export interface AuthorizationRequest {
  readonly request_id: string;
  readonly client: AuthorizationClient;
  /** The host, or the scheme of an application, to which the answer is sent; absent for a device, which asks the hub for it. */
  readonly redirect_host?: string;
  /** True for a device, which can claim to be any application: nothing is sent to an address of the application. */
  readonly is_device: boolean;
  readonly resource: string;
  readonly expires_at: string;
  /** What the application asks for, which is chosen first. */
  readonly asks_for: Pick<ConsentChoice, 'control' | 'readings'>;
  readonly choices: ConsentChoices;
}

/** What a choice grants, as the hub computes it. */
export interface ConsentPreview {
  readonly permissions: readonly string[];
  readonly until: string;
}

type RequestAnswer = AuthorizationRequest | { readonly redirect_to: string };
type DecisionAnswer = { readonly redirect_to: string } | { readonly done: true };

/**
 * `idle`: nothing was asked yet, or the code of a device was wrong. `open`: the person has to decide. `mistaken`: the application has made a
 * mistake of which it can be told. `failed`: the hub has no such request. `sent`: the browser goes to the application. `allowed` and `denied`:
 * a device learns the decision from the hub.
 */
export type AuthorizationStage = 'idle' | 'loading' | 'open' | 'deciding' | 'mistaken' | 'failed' | 'sent' | 'allowed' | 'denied';

interface AuthorizationParts {
  readonly hub: Pick<HubClient, 'post'>;
  /** Signs a consent; resolves with undefined for a login without a sign-in. */
  readonly agree: (subject: string) => Promise<JsonObject | undefined>;
  /** Leaves the page for an address of the application. */
  readonly navigate: (url: string) => void;
}

/** A request of an application for access, from its address or code to the decision of the person. */
export class Authorization extends Observable {
  readonly #parts: AuthorizationParts;
  #stage: AuthorizationStage = 'idle';
  #request: AuthorizationRequest | undefined;
  #choice: ConsentChoice | undefined;
  #preview: ConsentPreview | undefined;
  #problem: string | undefined;
  #mistakeUrl: string | undefined;
  #turn = 0;

  constructor(parts: AuthorizationParts) {
    super();
    this.#parts = parts;
  }

  get stage(): AuthorizationStage {
    return this.#stage;
  }

  get request(): AuthorizationRequest | undefined {
    return this.#request;
  }

  get choice(): ConsentChoice | undefined {
    return this.#choice;
  }

  /** What the present choice grants; undefined while the hub computes it, and if it grants nothing. */
  get preview(): ConsentPreview | undefined {
    return this.#preview;
  }

  /**
   * Address at which the application learns of its mistake; undefined in all other stages. The page goes there only if the person wants it:
   * anybody can register an application whose mistake would lead from the hub to an address of their own (RFC 9700 §4.11.2).
   */
  get mistakeUrl(): string | undefined {
    return this.#mistakeUrl;
  }

  /** The last error, for people; undefined if there was none. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** True if the person can allow what is shown, which is what the hub computed for the present choice. */
  get canAllow(): boolean {
    return this.#stage === 'open' && this.#preview !== undefined;
  }

  /** Opens the request of `/oauth/authorize?query`. */
  openQuery(query: string): Promise<void> {
    return this.#open('/api/v1/oauth/requests', { query }, 'failed');
  }

  /** Opens the request of a device that shows this code. After a wrong code the person can enter another one. */
  openCode(userCode: string): Promise<void> {
    return this.#open('/api/v1/oauth/device-codes', { user_code: userCode }, 'idle');
  }

  /** Changes the choice, and asks the hub what it grants. Resolves when the hub has answered. */
  async choose(change: Partial<ConsentChoice>): Promise<void> {
    if (!this.#choice) return;
    this.#choice = { ...this.#choice, ...change };
    await this.#loadPreview();
  }

  /** Allows what is shown. Does nothing if that is not what the present choice grants. */
  async allow(): Promise<void> {
    const { choice, preview, request } = this;
    if (!this.canAllow || !choice || !preview || !request) return;
    const { permissions } = preview;
    await this.#decide(request, 'allow', async () => {
      const proof = await this.#parts.agree(consentSubject(request.request_id, permissions));
      return { choice: { ...choice }, permissions, ...(proof && { proof }) };
    });
  }

  async deny(): Promise<void> {
    if (this.#stage === 'open' && this.#request) await this.#decide(this.#request, 'deny', async () => ({}));
  }

  /** Forgets the request, so that another code can be entered. */
  reset(): void {
    this.#turn++;
    this.#request = undefined;
    this.#choice = undefined;
    this.#preview = undefined;
    this.#mistakeUrl = undefined;
    this.#become('idle');
  }

  async #open(path: string, body: JsonObject, onFailure: 'failed' | 'idle'): Promise<void> {
    this.reset();
    const turn = this.#turn;
    this.#become('loading');
    try {
      const answer = await this.#parts.hub.post<RequestAnswer>(path, body);
      if (turn === this.#turn) await this.#receive(answer);
    } catch (error) {
      if (turn === this.#turn) this.#become(onFailure, messageOf(error));
    }
  }

  async #receive(answer: RequestAnswer): Promise<void> {
    if ('redirect_to' in answer) return this.#showMistake(answer.redirect_to);
    this.#request = answer;
    this.#choice = initialChoice(answer);
    this.#become('open');
    await this.#loadPreview();
  }

  async #loadPreview(): Promise<void> {
    const { request, choice } = this;
    if (!request || !choice) return;
    const turn = ++this.#turn;
    this.#preview = undefined;
    this.#become('open');
    if (grantsNothing(choice)) return;
    try {
      const preview = await this.#parts.hub.post<ConsentPreview>(pathOf(request, 'preview'), { choice: { ...choice } });
      if (turn !== this.#turn) return;
      this.#preview = preview;
      this.#become('open');
    } catch (error) {
      if (turn === this.#turn) this.#fail(error);
    }
  }

  async #decide(request: AuthorizationRequest, decision: 'allow' | 'deny', body: () => Promise<JsonObject>): Promise<void> {
    this.#become('deciding');
    try {
      const answer = await this.#parts.hub.post<DecisionAnswer>(pathOf(request, decision), await body());
      if ('redirect_to' in answer) this.#leaveFor(answer.redirect_to);
      else this.#become(decision === 'allow' ? 'allowed' : 'denied');
    } catch (error) {
      const isOtherGrant = error instanceof HubError && error.code === 'CONFLICT';
      if (!isOtherGrant) return this.#fail(error);
      await this.#loadPreview();
      this.#problem = text('authorize.changed');
      this.changed();
    }
  }

  /** A request that the hub does not have any more cannot be answered; after every other error the person can try again. */
  #fail(error: unknown): void {
    const isGone = error instanceof HubError && error.code === 'NOT_FOUND';
    this.#become(isGone ? 'failed' : 'open', messageOf(error));
  }

  #showMistake(url: string): void {
    const isAllowed = isAnswerAddress(url);
    if (isAllowed) this.#mistakeUrl = url;
    this.#become(isAllowed ? 'mistaken' : 'failed', isAllowed ? errorIn(url) : text('authorize.bad_address'));
  }

  #leaveFor(url: string): void {
    if (isAnswerAddress(url)) {
      this.#become('sent');
      this.#parts.navigate(url);
    } else this.#become('failed', text('authorize.bad_address'));
  }

  #become(stage: AuthorizationStage, problem?: string): void {
    this.#stage = stage;
    this.#problem = problem;
    this.changed();
  }
}

function pathOf({ request_id: id }: AuthorizationRequest, action: 'preview' | 'allow' | 'deny'): string {
  return `/api/v1/oauth/requests/${encodeURIComponent(id)}/${action}`;
}

/** Returns the description of the error in an answer to an application (RFC 6749 §4.1.2.1). */
function errorIn(url: string): string {
  const { searchParams } = new URL(url);
  return searchParams.get('error_description') ?? searchParams.get('error') ?? '';
}

/** Returns the choice that the page shows first: what the application asks for, without anything that does harm. */
export function initialChoice({ asks_for: requested, choices }: Pick<AuthorizationRequest, 'asks_for' | 'choices'>): ConsentChoice {
  const { control, readings } = requested;
  const harmless = { areas: 'all', kinds: 'all', control, readings } as const;
  return { ...harmless, locks: false, valves: false, administration: false, until: choices.default_until };
}

/** Returns whether a choice grants nothing, which the hub does not compute. */
export function grantsNothing({ areas, kinds, control, readings, locks, valves, administration }: ConsentChoice): boolean {
  const hasDevices = areas.length > 0 && (kinds.length > 0 || locks || valves);
  return !administration && !(hasDevices && (control || readings));
}

/** Returns the end of a grant of this lifetime, ISO 8601; never later than the hub permits. */
export function untilOf(life: ConsentLife, { max_until: latest }: ConsentChoices, nowMs: number): string {
  return new Date(Math.min(nowMs + CONSENT_DAYS[life] * DAY_MS, Date.parse(latest))).toISOString();
}

/** Returns the lifetimes up to the first one that reaches the latest end, at which it is cut. */
export function livesWithin({ max_until: latest }: ConsentChoices, nowMs: number): readonly ConsentLife[] {
  const lives = Object.keys(CONSENT_DAYS) as ConsentLife[];
  const last = lives.findIndex((life) => nowMs + CONSENT_DAYS[life] * DAY_MS >= Date.parse(latest));
  return last === -1 ? lives : lives.slice(0, last + 1);
}

/** Returns the lifetime that the page shows first: the one with the end that the hub proposes. The clock of the browser may differ. */
export function firstLife(choices: ConsentChoices, nowMs: number): ConsentLife | undefined {
  const lives = livesWithin(choices, nowMs);
  const proposedMs = Date.parse(choices.default_until) - MOST_SKEW_MS;
  return lives.find((life) => Date.parse(untilOf(life, choices, nowMs)) >= proposedMs) ?? lives.at(-1);
}

/**
 * Returns how far the hub knows the application: `document` if the answer goes to an address that the application's own document names;
 * `local` if it goes to a program on the machine of the browser, where every program can name that document; `unknown` for all others.
 */
export function trustIn({ client, is_device: isDevice, redirect_host: host = '' }: AuthorizationRequest): 'unknown' | 'local' | 'document' {
  if (isDevice || client.kind === 'registered') return 'unknown';
  return isOnThisMachine(host) ? 'local' : 'document';
}

/** Returns whether a resource is more than the MCP endpoint of the hub: its HTTP interface, or all of it. */
export function isWholeHub(resource: string): boolean {
  return !URL.canParse(resource) || !/^\/mcp(?:\/|$)/.test(new URL(resource).pathname);
}
