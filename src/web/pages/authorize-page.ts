import '../components/misclick-guard.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { isOnThisMachine } from '../../core/auth/redirect-address.ts';
import { escapeAllHidden } from '../../core/untrusted-text.ts';
import {
  Authorization,
  type AuthorizationRequest,
  type AuthorizationStage,
  grantsNothing,
  isWholeHub,
  trustIn,
} from '../api/authorization.ts';
import { agreementProof } from '../api/sign-in.ts';
import { formValues } from '../components/form-values.ts';
import { dateTimeWords, dateWords, timeWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { text, textWith } from '../texts/text.ts';
import { consentForm } from './consent-form.ts';
import { grantsInWords } from './tokens.ts';

const HEADING = 'authorize-heading';

/** Page on which a person allows or denies the access that an application or a device asks for (OAuth 2.1, RFC 8628). */
export class AuthorizePage extends PageElement {
  #flow: Authorization | undefined;
  #shownStage: AuthorizationStage = 'idle';
  /** True once the person has sent a code or a decision. */
  #hasActed = false;

  protected override connected(): readonly Stop[] {
    const { hub, post, session } = this.app;
    const agree = (subject: string) => agreementProof(post, session.login ?? {}, subject);
    const flow = new Authorization({ hub, agree, navigate: (url) => location.replace(url) });
    this.#flow = flow;
    this.#begin();
    return [...super.connected(), flow.subscribe(() => this.requestUpdate())];
  }

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    // The first request is opened when the page is connected, which is after the sign-in.
    if (changes.has('params') && changes.get('params') !== undefined) this.#begin();
  }

  /** Leads whoever uses keys or a screen reader to the news: after a press, the button that had the focus may be gone. */
  protected override updated(): void {
    const { stage = 'idle' } = this.#flow ?? {};
    if (stage !== this.#shownStage && this.#hasActed) void this.restoreFocus(null, `#${HEADING}`);
    this.#shownStage = stage;
  }

  protected override render(): TemplateResult {
    const flow = this.#flow;
    if (!flow) return html``;
    const { stage, request } = flow;
    if (stage === 'loading')
      return html`${head(text('authorize.title'))}<p class="quiet center" aria-busy="true">${text('shell.wait')}</p>`;
    if (request && (stage === 'open' || stage === 'deciding')) return this.#request(flow, request);
    if (stage === 'idle') return this.#code(flow);
    if (stage === 'mistaken') return mistake(flow);
    return ending(flow);
  }

  #begin(): void {
    const { query } = this.params;
    if (query === undefined) this.#flow?.reset();
    else void this.#flow?.openQuery(query.replace(/^\?/, ''));
  }

  #act(work: Promise<void>): void {
    this.#hasActed = true;
    void work;
  }

  /** Returns the form for the code of a device. A code in the address is not sent by itself: the person has to compare it first. */
  #code(flow: Authorization): TemplateResult {
    const { user_code: given = '' } = this.params;
    return html`${head(text('authorize.device_title'))}
      <form class="card stack" @submit=${(event: SubmitEvent) => this.#act(flow.openCode(formValues(event).code ?? ''))}>
        <p>${text('authorize.device_help')}</p>
        ${alert(text('authorize.device_warning'))} ${flow.problem === undefined ? nothing : alert(flow.problem)}
        <label class="field"><span class="label">${text('authorize.code')}</span>
          <input name="code" required maxlength="32" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" .value=${given} /></label>
        <p><button class="button primary">${text('authorize.go_on')}</button></p>
      </form>`;
  }

  #request(flow: Authorization, request: AuthorizationRequest): TemplateResult {
    const { choices, client } = request;
    const { choice } = flow;
    if (!choice) return html``;
    const onChange = (change: Partial<typeof choice>) => void flow.choose(change);
    return html`${head(textWith('authorize.asks', { client: html`<bdi>${shown(client.name)}</bdi>` }))}
      <div class="stack">
        <section class="card stack" aria-label=${text('authorize.who')}>${facts(request)}
          <p class="alert">${icon('warning')}<span>${text(`authorize.warning_${trustIn(request)}`, { host: shown(request.redirect_host ?? '') })}</span></p></section>
        ${consentForm({ choices, choice, nowMs: Date.now(), onChange })} ${this.#decision(flow, request)}
      </div>`;
  }

  #decision(flow: Authorization, request: AuthorizationRequest): TemplateResult {
    const isDeciding = flow.stage === 'deciding';
    return html`<section class="card stack" aria-labelledby="authorize-result">
      <h2 id="authorize-result">${text('authorize.result')}</h2>
      ${flow.problem === undefined ? nothing : alert(flow.problem)} ${this.#result(flow)}
      <atmo-steady about=${request.request_id}><div class="row">
        <button type="button" class="button primary" ?disabled=${!flow.canAllow || isDeciding} @click=${() => this.#act(flow.allow())}>${icon('check')}${text('authorize.allow')}</button>
        <button type="button" class="button" ?disabled=${isDeciding} @click=${() => this.#act(flow.deny())}>${icon('close')}${text('authorize.deny')}</button>
      </div></atmo-steady>
      <p class="quiet small">${text('authorize.expires', { time: timeWords(request.expires_at) })}</p>
    </section>`;
  }

  /** Returns what the choice grants, as the hub computed it, in the words of the page. */
  #result({ choice, preview, problem }: Authorization): TemplateResult | typeof nothing {
    if (choice && grantsNothing(choice)) return html`<p role="status">${text('authorize.nothing')}</p>`;
    if (!preview) return problem === undefined ? html`<p class="quiet" aria-busy="true">${text('shell.wait')}</p>` : nothing;
    const { permissions, until } = preview;
    return html`<div role="status"><p>${text('authorize.until_then', { date: dateTimeWords(until) })}</p>
        <ul class="granted">${grantsInWords(permissions, this.app.store.state.devices).map((words) => html`<li>${words}</li>`)}</ul></div>
      <details><summary>${text('tokens.permissions')}</summary><ul class="log">${permissions.map((permission) => html`<li><code>${permission}</code></li>`)}</ul></details>`;
  }
}

customElements.define('atmo-page-authorize', AuthorizePage);

function head(title: unknown): TemplateResult {
  return html`<header class="page-head"><h1 id=${HEADING} tabindex="-1">${title}</h1></header>`;
}

function alert(words: string): TemplateResult {
  return html`<p class="alert" role="alert">${icon('warning')}<span>${words}</span></p>`;
}

/** Returns a text of the application without characters that a reader does not see. */
function shown(words: string): string {
  return escapeAllHidden(words);
}

/** Returns who asks and where the answer goes, as the hub knows it. */
function facts(request: AuthorizationRequest): TemplateResult {
  const { client, redirect_host: target, resource } = request;
  return html`<dl class="facts narrow">
    <dt>${text('authorize.name')}</dt><dd><bdi>${shown(client.name)}</bdi></dd>
    <dt>${text('authorize.known_as')}</dt><dd>${knownAs(request)}</dd>
    ${target === undefined ? nothing : html`<dt>${text('authorize.goes_to')}</dt><dd><bdi>${shown(target)}</bdi>${isOnThisMachine(target) ? ` (${text('authorize.this_machine')})` : nothing}</dd>`}
    <dt>${text('authorize.resource')}</dt><dd><code>${shown(resource)}</code>${isWholeHub(resource) ? ` (${text('authorize.whole_hub')})` : nothing}</dd>
  </dl>`;
}

function knownAs({ client, is_device: isDevice }: AuthorizationRequest): unknown {
  const { kind, host, registered_at: at } = client;
  if (kind === 'metadata_document' && !isDevice) return textWith('authorize.document', { host: html`<bdi>${shown(host ?? '')}</bdi>` });
  return at === undefined ? text('authorize.unknown') : text('authorize.unknown_since', { date: dateWords(at) });
}

/** Returns what the application did wrong, with the way back to it. */
function mistake({ mistakeUrl = '', problem = '' }: Authorization): TemplateResult {
  const { host, protocol } = new URL(mistakeUrl);
  return html`${head(text('authorize.mistaken_title'))}
    <div class="card stack">${alert(shown(problem))}<p>${text('authorize.failed')}</p>
      <p><a class="button" href=${mistakeUrl} rel="noreferrer">${textWith('authorize.back_to', { host: html`<bdi>${shown(host || protocol)}</bdi>` })}</a></p></div>`;
}

const ENDINGS = {
  sent: ['authorize.sent_title', 'authorize.sent'],
  allowed: ['authorize.allowed_title', 'authorize.allowed'],
  denied: ['authorize.denied_title', 'authorize.denied'],
  failed: ['authorize.failed_title', 'authorize.failed'],
} as const;

/** Returns how the request ended. */
function ending({ stage, problem }: Authorization): TemplateResult {
  const [title, about] = ENDINGS[stage === 'sent' || stage === 'allowed' || stage === 'denied' ? stage : 'failed'];
  return html`${head(text(title))}
    <div class="card stack">${problem === undefined ? nothing : alert(problem)}<p>${text(about)}</p>
      <p><a class="button" href="#/home">${text('home.title')}</a></p></div>`;
}
